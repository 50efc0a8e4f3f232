package lab.bench;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import lab.storage.Storage;

/**
 * Puts at a fixed rate into a store whose tables are merged meanwhile, and prints the response times counted from when
 * each put was due, as one line of JSON. The first seconds are not counted.
 *
 * <p>Arguments: engine, filled folder, keys, bytes of a value, puts a second, seconds.
 */
public final class Tail {

    private static final double NS_PER_S = 1e9;
    private static final double NS_PER_US = 1e3;
    private static final int WARMUP_S = 5;
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
        SplittableRandom random = new SplittableRandom(1);
        long elapsed;
        try (Storage storage = Engines.open(args[0], Path.of(args[1]))) {
            long start = System.nanoTime();
            for (int i = -rate * WARMUP_S; i < response.length; i++) {
                long due = start + (long) ((i + (double) rate * WARMUP_S) * NS_PER_S / rate);
                await(due);
                int number = random.nextInt(keys);
                storage.put(MemorySegment.ofArray(Data.key(number)), values.of(number));
                if (i >= 0) {
                    response[i] = System.nanoTime() - due;
                }
            }
            elapsed = System.nanoTime() - start;
        }
        Arrays.sort(response);
        StringBuilder line = new StringBuilder("{\"engine\": \"" + args[0] + "\", \"offered_rps\": " + rate
                + ", \"achieved_rps\": " + Math.round((response.length + (double) rate * WARMUP_S) * NS_PER_S / elapsed)
                + ", \"samples\": " + response.length);
        for (double percentile : PERCENTILES) {
            int at = Math.min(response.length - 1, (int) (percentile * response.length));
            line.append(String.format(", \"p%s_us\": %.1f", Double.toString(percentile * 100).replaceAll("\\.0$", ""),
                    response[at] / NS_PER_US));
        }
        System.out.println(line.append('}'));
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
