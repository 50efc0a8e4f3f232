package lab.bench;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.SplittableRandom;
import lab.storage.Storage;

/**
 * Opens a filled store in a fresh process, reads from all over it, and prints how long the opening took and the memory
 * that is neither of mapped files nor of the heap, as one line of JSON.
 *
 * <p>The second means something where the heap is resident in full ({@code -Xms} as {@code -Xmx}, {@code
 * -XX:+AlwaysPreTouch}), for how much of it was ever touched is chance, and where the second compiler is off ({@code
 * -XX:TieredStopAtLevel=1}), which takes megabytes at one time or another. Arguments: engine, filled folder, keys.
 */
public final class Open {

    private static final int READS = 300_000;
    private static final double NS_PER_S = 1e9;

    private Open() {
    }

    /** Runs it. */
    public static void main(String[] args) {
        int keys = Integer.parseInt(args[2]);
        long from = System.nanoTime();
        try (Storage storage = Engines.open(args[0], Path.of(args[1]))) {
            byte[] first = storage.get(MemorySegment.ofArray(Data.key(0)));
            double seconds = (System.nanoTime() - from) / NS_PER_S;
            if (first == null) {
                throw new IllegalStateException("The store in " + args[1] + " is not filled.");
            }
            SplittableRandom random = new SplittableRandom(1);
            for (int i = 0; i < READS; i++) {
                storage.get(MemorySegment.ofArray(Data.key(random.nextInt(keys))), value -> { });
            }
            System.gc();
            System.out.printf("{\"engine\": \"%s\", \"disk_bytes\": %d, \"open_s\": %.4f, \"off_heap_bytes\": %d}%n",
                    args[0], Fill.size(Path.of(args[1])), seconds,
                    Process.anonymousBytes() - Runtime.getRuntime().totalMemory());
        }
    }
}
