package lab.bench;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import lab.storage.Storage;

/**
 * Puts at a fixed rate into a store whose tables are merged meanwhile, and writes down when each put was due, when it
 * was called and when it returned. From these follow the response times, and which puts the machine itself delayed.
 *
 * <p>Before that all keys are written twice as fast as they go, so that the compiler has seen flush and merge, and some
 * seconds at the rate are not counted. What was written to the disk over what was put says whether tables were merged:
 * log and flush alone make two. One line of JSON is printed.
 *
 * <p>The file holds a record for each put: due, called, returned, each a little-endian long of {@code CLOCK_MONOTONIC}
 * in nanoseconds.
 *
 * <p>Arguments: engine, folder, keys, bytes of a value, puts per second, seconds of warm-up at the rate, seconds, core of
 * the writer (-1: any), file.
 */
public final class Tail {

    private static final double NS_PER_S = 1e9;
    private static final int WARMUP_ROUNDS = 2;
    private static final long SPIN_BELOW_NS = 200_000;
    private static final int RECORD_BYTES = 3 * Long.BYTES;
    private static final int RECORDS_A_WRITE = 4096;

    private Tail() {
    }

    /** Runs it. */
    public static void main(String[] args) throws IOException {
        int keys = Integer.parseInt(args[2]);
        Values values = new Values(Integer.parseInt(args[3]));
        int rate = Integer.parseInt(args[4]);
        int warmup = rate * Integer.parseInt(args[5]);
        int cpu = Integer.parseInt(args[7]);
        long[] due = new long[rate * Integer.parseInt(args[6])];
        long[] called = new long[due.length];
        long[] returned = new long[due.length];
        SplittableRandom random = new SplittableRandom(1);
        byte[] bytes = new byte[Data.KEY_BYTES];
        MemorySegment key = MemorySegment.ofArray(bytes);
        long writtenBefore = 0;
        long written;
        try (Storage storage = Engines.open(args[0], Path.of(args[1]))) {
            warmUp(storage, keys, values);
            // What the warm-up left behind is no part of what is measured.
            System.gc();
            if (cpu >= 0) {
                // Only now: threads of the engine would inherit it.
                Core.bind(cpu);
            }
            long start = System.nanoTime();
            for (int i = -warmup; i < due.length; i++) {
                long dueNs = start + (long) ((i + (double) warmup) * NS_PER_S / rate);
                await(dueNs);
                if (i == 0) {
                    writtenBefore = Process.writtenBytes();
                }
                int number = random.nextInt(keys);
                Data.writeKey(number, bytes);
                long calledNs = System.nanoTime();
                storage.put(key, values.of(number));
                if (i >= 0) {
                    due[i] = dueNs;
                    called[i] = calledNs;
                    returned[i] = System.nanoTime();
                }
            }
            written = Process.writtenBytes() - writtenBefore;
        }
        write(Path.of(args[8]), due, called, returned);
        System.out.printf("{\"engine\": \"%s\", \"offered_rps\": %d, \"achieved_rps\": %.1f, \"samples\": %d,"
                + " \"write_amplification\": %.2f}%n", args[0], rate,
                due.length * NS_PER_S / (returned[due.length - 1] - due[0]), due.length,
                written / ((double) due.length * (Data.KEY_BYTES + values.bytes())));
    }

    private static void warmUp(Storage storage, int keys, Values values) {
        for (int round = 0; round < WARMUP_ROUNDS; round++) {
            for (int number : Data.shuffled(keys)) {
                storage.put(MemorySegment.ofArray(Data.key(number)), values.of(number));
            }
        }
    }

    private static void await(long due) {
        long wait = due - System.nanoTime();
        if (wait > SPIN_BELOW_NS) {
            LockSupport.parkNanos(wait - SPIN_BELOW_NS);
        }
        while (System.nanoTime() < due) {
            Thread.onSpinWait();
        }
    }

    private static void write(Path file, long[]... columns) throws IOException {
        ByteBuffer records = ByteBuffer.allocateDirect(RECORDS_A_WRITE * RECORD_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (int i = 0; i < columns[0].length; i++) {
                for (long[] column : columns) {
                    records.putLong(column[i]);
                }
                if (!records.hasRemaining()) {
                    writeOut(records, channel);
                }
            }
            writeOut(records, channel);
        }
    }

    private static void writeOut(ByteBuffer records, FileChannel channel) throws IOException {
        records.flip();
        while (records.hasRemaining()) {
            channel.write(records);
        }
        records.clear();
    }
}
