package lab.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
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
    private static final long QUIET_NS = 6_000_000_000L;
    private static final long LONGEST_WAIT_NS = 120_000_000_000L;

    private Fill() {
    }

    /** Runs it. */
    public static void main(String[] args) throws IOException, InterruptedException {
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

    /** Waits until no table has been made, changed or removed for a while. */
    static void settle(Path folder) throws IOException, InterruptedException {
        try (WatchService changes = folder.getFileSystem().newWatchService()) {
            folder.register(changes, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY,
                    StandardWatchEventKinds.ENTRY_DELETE);
            long from = System.nanoTime();
            long last = from;
            while (true) {
                long now = System.nanoTime();
                long left = Math.min(last + QUIET_NS, from + LONGEST_WAIT_NS) - now;
                WatchKey changed = left <= 0 ? null : changes.poll(left, TimeUnit.NANOSECONDS);
                if (changed == null) {
                    return;
                }
                if (changed.pollEvents().stream().anyMatch(event -> !(event.context() instanceof Path file)
                        || isTable(file))) {
                    last = System.nanoTime();
                }
                changed.reset();
            }
        }
    }

    private static boolean isTable(Path file) {
        return file.toString().matches(".*\\.(table|sst|ldb)");
    }

    /** Bytes of the tables of a folder, whoever made them. */
    static long size(Path folder) {
        try (var files = Files.list(folder)) {
            return files.filter(Fill::isTable).mapToLong(Fill::sizeOf).sum();
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
