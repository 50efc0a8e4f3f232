package lab.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import lab.storage.Cursor;
import lab.storage.Storage;

/**
 * Fills a store with keys in random order, measures the puts, writes some of them again, waits until the store has
 * settled, and prints one line of JSON. A first store, thrown away, warms the compiler up.
 *
 * <p>Arguments: engine, folder, keys, bytes of a value, how many times all keys are written again.
 */
public final class Fill {

    private static final int WARMUP_PUTS = 300_000;
    private static final long QUIET_MS = 6_000;
    private static final long LONGEST_WAIT_MS = 120_000;
    private static final long STEP_MS = 100;

    private Fill() {
    }

    /** Runs it. */
    public static void main(String[] args) throws InterruptedException {
        String engine = args[0];
        Path folder = Path.of(args[1]);
        int keys = Integer.parseInt(args[2]);
        Values values = new Values(Integer.parseInt(args[3]));
        int rewrites = Integer.parseInt(args[4]);
        warmUp(engine, folder.resolveSibling(folder.getFileName() + "-warm-up"), values);
        int[] order = Data.shuffled(keys);
        long writtenBefore = Process.writtenBytes();
        long putNs;
        long rewriteNs;
        try (Storage storage = Engines.open(engine, folder)) {
            putNs = put(storage, order, values);
            long from = System.nanoTime();
            for (int i = 0; i < rewrites; i++) {
                put(storage, order, values);
            }
            rewriteNs = System.nanoTime() - from;
            storage.flush();
            settle(folder);
        }
        long written = Process.writtenBytes() - writtenBefore;
        long live = (long) keys * (Data.KEY_BYTES + values.bytes());
        long puts = (long) keys * (1 + rewrites);
        System.out.printf("{\"engine\": \"%s\", \"keys\": %d, \"value_bytes\": %d, \"put_ns\": %.1f, \"rewrite_ns\": %.1f,"
                + " \"written_bytes\": %d, \"put_bytes\": %d, \"disk_bytes\": %d, \"live_bytes\": %d,"
                + " \"anonymous_bytes\": %d}%n", engine, keys, values.bytes(), (double) putNs / keys,
                rewrites == 0 ? 0 : (double) rewriteNs / rewrites / keys, written,
                puts * (Data.KEY_BYTES + values.bytes()), size(folder), live, Process.anonymousBytes());
    }

    private static void warmUp(String engine, Path folder, Values values) {
        try (Storage storage = Engines.open(engine, folder)) {
            put(storage, Data.shuffled(WARMUP_PUTS), values);
            storage.flush();
            try (Cursor cursor = storage.range(null, null)) {
                cursor.next();
            }
        }
        delete(folder);
    }

    private static long put(Storage storage, int[] order, Values values) {
        long from = System.nanoTime();
        for (int number : order) {
            storage.put(MemorySegment.ofArray(Data.key(number)), values.of(number));
        }
        return System.nanoTime() - from;
    }

    /** Waits until the files have not changed for a while. */
    static void settle(Path folder) throws InterruptedException {
        long size = -1;
        long since = System.currentTimeMillis();
        long end = since + LONGEST_WAIT_MS;
        while (System.currentTimeMillis() < end && System.currentTimeMillis() - since < QUIET_MS) {
            long now = size(folder);
            if (now != size) {
                size = now;
                since = System.currentTimeMillis();
            }
            Thread.sleep(STEP_MS);
        }
    }

    /** Bytes of the tables of a folder, whoever made them. */
    static long size(Path folder) {
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.toString().matches(".*\\.(table|sst|ldb)")).mapToLong(Fill::sizeOf).sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long sizeOf(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            // Merged away meanwhile.
            return 0;
        }
    }

    /** Removes a folder. */
    static void delete(Path folder) {
        try (var files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
