package lab.bench;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.Storage;

/**
 * Puts from several threads as fast as each returns, and prints puts per second for each number of threads, as one line of
 * JSON. Meant for engines with {@code +sync}: how many share one write to the disk is what counts.
 *
 * <p>Arguments: engine, folder, keys, bytes of a value, seconds of warm-up, seconds, numbers of threads.
 */
public final class Durable {

    private static final double NS_PER_S = 1e9;
    private static final int FIRST_WRITERS = 5;

    private final Storage storage;
    private final int keys;
    private final Values values;
    private final LongAdder puts = new LongAdder();
    private volatile boolean stopping;

    private Durable(Storage storage, int keys, Values values) {
        this.storage = storage;
        this.keys = keys;
        this.values = values;
    }

    /** Runs it. */
    public static void main(String[] args) throws InterruptedException {
        Values values = new Values(Integer.parseInt(args[3]));
        long warmupMs = (long) (Double.parseDouble(args[4]) * TimeUnit.SECONDS.toMillis(1));
        long measuredMs = (long) (Double.parseDouble(args[5]) * TimeUnit.SECONDS.toMillis(1));
        StringBuilder line = new StringBuilder("{\"engine\": \"" + args[0] + '"');
        try (Storage storage = Engines.open(args[0], Path.of(args[1]))) {
            for (int i = FIRST_WRITERS + 1; i < args.length; i++) {
                double rate = new Durable(storage, Integer.parseInt(args[2]), values)
                        .rate(Integer.parseInt(args[i]), warmupMs, measuredMs);
                line.append(String.format(", \"writers_%s_rps\": %.1f", args[i], rate));
            }
        }
        System.out.println(line.append('}'));
    }

    private double rate(int writers, long warmupMs, long measuredMs) throws InterruptedException {
        Thread[] threads = new Thread[writers];
        CountDownLatch running = new CountDownLatch(writers);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        for (int i = 0; i < writers; i++) {
            int number = i;
            threads[i] = Thread.ofPlatform().name("writer-" + i).uncaughtExceptionHandler((_, e) -> failure.set(e))
                    .start(() -> write(number, running));
        }
        running.await();
        Thread.sleep(warmupMs);
        long before = puts.sum();
        long from = System.nanoTime();
        long counted = 0;
        while (counted == 0 && failure.get() == null) {
            // Longer than asked for only where not one put has returned.
            Thread.sleep(measuredMs);
            counted = puts.sum() - before;
        }
        long elapsed = System.nanoTime() - from;
        stopping = true;
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new IllegalStateException("A writer failed; see the cause.", failure.get());
        }
        return counted * NS_PER_S / elapsed;
    }

    /** Writes until it is stopped and counts the puts that returned. */
    private void write(int seed, CountDownLatch running) {
        SplittableRandom random = new SplittableRandom(seed);
        running.countDown();
        while (!stopping) {
            int number = random.nextInt(keys);
            storage.put(MemorySegment.ofArray(Data.key(number)), values.of(number));
            puts.increment();
        }
    }
}
