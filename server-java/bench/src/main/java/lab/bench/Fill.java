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
 * Fills a store with keys in random order, writes all of them again some times, measures these puts, waits for the end of
 * compaction, and prints one line of JSON. A first store, thrown away, warms the compiler up.
 *
 * <p>What was written and what is taken of the disk counts the logs too.
 *
 * <p>Arguments: engine, folder, keys, bytes of a value, how many times all keys are written again, puts of the warm-up,
 * seconds without a change of a table after which compaction has ended.
 */
public final class Fill {

    private static final double NS_PER_S = 1e9;
    private static final long LONGEST_WAIT_NS = 120_000_000_000L;

    private Fill() {
    }

    /** Runs it. */
    public static void main(String[] args) throws IOException, InterruptedException {
        String engine = args[0];
        Path folder = Path.of(args[1]);
        int keys = Integer.parseInt(args[2]);
        Values values = new Values(Integer.parseInt(args[3]));
        int passes = 1 + Integer.parseInt(args[4]);
        int warmupPuts = Integer.parseInt(args[5]);
        long quietNs = (long) (Double.parseDouble(args[6]) * NS_PER_S);
        warmUp(engine, folder.resolveSibling(folder.getFileName() + "-warm-up"), values, warmupPuts);
        int[] order = Data.shuffled(keys);
        long writtenBefore = Process.writtenBytes();
        long putNs;
        long allocated;
        try (Storage storage = Engines.open(engine, folder)) {
            long from = System.nanoTime();
            for (int i = 0; i < passes; i++) {
                put(storage, order, values);
            }
            putNs = System.nanoTime() - from;
            storage.flush();
            settle(folder, quietNs);
            allocated = Process.allocatedBytes(folder);
        }
        long written = Process.writtenBytes() - writtenBefore;
        long live = (long) keys * (Data.KEY_BYTES + values.bytes());
        long puts = (long) keys * passes;
        System.out.printf("{\"engine\": \"%s\", \"keys\": %d, \"value_bytes\": %d, \"put_ns\": %.1f,"
                + " \"written_bytes\": %d, \"put_bytes\": %d, \"allocated_bytes\": %d, \"table_bytes\": %d,"
                + " \"live_bytes\": %d}%n", engine, keys, values.bytes(), (double) putNs / puts, written,
                puts * (Data.KEY_BYTES + values.bytes()), allocated, size(folder), live);
    }

    private static void warmUp(String engine, Path folder, Values values, int puts) {
        try (Storage storage = Engines.open(engine, folder)) {
            put(storage, Data.shuffled(puts), values);
            storage.flush();
            try (Cursor cursor = storage.range(null, null)) {
                cursor.next();
            }
        }
        delete(folder);
    }

    private static void put(Storage storage, int[] order, Values values) {
        for (int number : order) {
            storage.put(MemorySegment.ofArray(Data.key(number)), values.of(number));
        }
    }

    /** Waits until no table has been made, changed or removed for so long. */
    private static void settle(Path folder, long quietNs) throws IOException, InterruptedException {
        try (WatchService changes = folder.getFileSystem().newWatchService()) {
            folder.register(changes, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY,
                    StandardWatchEventKinds.ENTRY_DELETE);
            long from = System.nanoTime();
            long last = from;
            while (true) {
                long now = System.nanoTime();
                long left = Math.min(last + quietNs, from + LONGEST_WAIT_NS) - now;
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
