package lab.bench;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import lab.storage.Storage;

/**
 * Puts at a fixed rate into a store whose tables are merged meanwhile, and prints the response times counted from when
 * each put was due, as one line of JSON; and how long the calls themselves took, for what stands still between two of
 * them is the machine and not the store. It makes no garbage of its own.
 *
 * <p>Before that all keys are written as fast as they go, so that the compiler has seen flush and merge, and some
 * seconds at the rate are not counted. What was written to the disk over what was put says whether tables were merged:
 * log and flush alone make two.
 *
 * <p>Arguments: engine, filled folder, keys, bytes of a value, puts a second, seconds.
 */
public final class Tail {

    private static final double NS_PER_S = 1e9;
    private static final double NS_PER_US = 1e3;
    private static final int WARMUP_ROUNDS = 2;
    private static final int WARMUP_S = 25;
    private static final long SPIN_BELOW_NS = 200_000;
    private static final double[] PERCENTILES = {0.5, 0.99, 0.999, 0.9999, 1};

    private Tail() {
    }

    /** Runs it. */
    public static void main(String[] args) {
        int keys = Integer.parseInt(args[2]);
        Values values = new Values(Integer.parseInt(args[3]));
        int rate = Integer.parseInt(args[4]);
        int seconds = Integer.parseInt(args[5]);
        long[] response = new long[rate * seconds];
        long[] service = new long[response.length];
        SplittableRandom random = new SplittableRandom(1);
        byte[] bytes = new byte[Data.KEY_BYTES];
        MemorySegment key = MemorySegment.ofArray(bytes);
        long elapsed;
        long writtenBefore = 0;
        long written;
        try (Storage storage = Engines.open(args[0], Path.of(args[1]))) {
            warmUp(storage, keys, values);
            long start = System.nanoTime();
            for (int i = -rate * WARMUP_S; i < response.length; i++) {
                long due = start + (long) ((i + (double) rate * WARMUP_S) * NS_PER_S / rate);
                await(due);
                if (i == 0) {
                    writtenBefore = Process.writtenBytes();
                }
                int number = random.nextInt(keys);
                Data.writeKey(number, bytes);
                long called = System.nanoTime();
                storage.put(key, values.of(number));
                if (i >= 0) {
                    long answered = System.nanoTime();
                    response[i] = answered - due;
                    service[i] = answered - called;
                }
            }
            elapsed = System.nanoTime() - start;
            written = Process.writtenBytes() - writtenBefore;
        }
        System.out.println("{\"engine\": \"" + args[0] + "\", \"offered_rps\": " + rate + ", \"achieved_rps\": "
                + Math.round((response.length + (double) rate * WARMUP_S) * NS_PER_S / elapsed) + ", \"samples\": "
                + response.length + String.format(", \"write_amplification\": %.2f",
                written / ((double) response.length * (Data.KEY_BYTES + values.bytes())))
                + percentiles("", response) + percentiles("call_", service) + '}');
    }

    private static String percentiles(String prefix, long[] nanoseconds) {
        Arrays.sort(nanoseconds);
        StringBuilder line = new StringBuilder();
        for (double percentile : PERCENTILES) {
            int at = Math.min(nanoseconds.length - 1, (int) (percentile * nanoseconds.length));
            line.append(String.format(", \"%sp%s_us\": %.1f", prefix,
                    Double.toString(percentile * 100).replaceAll("\\.0$", ""), nanoseconds[at] / NS_PER_US));
        }
        return line.toString();
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
}
