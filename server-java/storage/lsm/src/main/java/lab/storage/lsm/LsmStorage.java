package lab.storage.lsm;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.FolderLock;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.StorageStats;
import lab.storage.ValueReader;

/**
 * The engine {@code lsm}: writes go to a log and a sorted memtable, full memtables to immutable sorted files, and files
 * are merged in the background.
 */
public final class LsmStorage implements Storage {

    private static final String LOCK_FILE = "LOCK";

    private final Path folder;
    private final LsmOptions options;
    private final Counters counters = new Counters();
    private final Housekeeper housekeeper = new Housekeeper();
    private final ThreadLocal<Lookup> lookups = ThreadLocal.withInitial(Lookup::new);
    private final RowCache cache;
    private final FolderLock lock;
    private final Spares spares;
    private final Tree tree;
    private final Flusher flusher;
    private final Compactor compactor;
    private boolean closed;

    /**
     * Opens a folder, which is made if it is missing, and brings back what the log holds.
     *
     * @throws StorageException if another process uses it, or if it cannot be read
     */
    public LsmStorage(Path folder, LsmOptions options) {
        this(folder, options, Disk.REAL);
    }

    /** With a disk that may fail, for tests. */
    LsmStorage(Path folder, LsmOptions options, Disk disk) {
        this.folder = folder;
        this.options = options;
        this.cache = options.cacheBytes() == 0 ? null : new RowCache(options.cacheBytes());
        FolderLock taken = null;
        List<Table> tables = new ArrayList<>();
        try {
            Files.createDirectories(folder);
            taken = FolderLock.take(folder, LOCK_FILE);
            this.lock = taken;
            StoreFolder files = StoreFolder.open(folder, disk, options, housekeeper);
            this.spares = new Spares(files, options, housekeeper);
            CompactionPolicy policy = CompactionPolicy.of(options);
            Recovery recovery = new Recovery(files, spares, options, files.openTables(tables));
            recovery.run(tables);
            this.tree = new Tree(files, options, counters, spares, recovery, spares.newLog(), policy);
            this.compactor = new Compactor(tree, files, options, counters, policy);
            this.flusher = new Flusher(tree, files, counters, cache, compactor::wake);
        } catch (IOException e) {
            releaseAll(tables, taken);
            throw Failure.of("The folder " + folder + " cannot be opened; check that it exists and that this user may "
                    + "write to it", e);
        } catch (RuntimeException e) {
            releaseAll(tables, taken);
            throw e;
        }
        tables.forEach(Table::release);
        spares.begin(tree);
        compactor.start();
        flusher.start();
    }

    private void releaseAll(List<Table> tables, FolderLock taken) {
        tables.forEach(Table::release);
        housekeeper.close();
        if (taken != null) {
            taken.close();
        }
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        Lookup lookup = lookups.get();
        if (lookup.busy()) {
            lookup = new Lookup();
        }
        lookup.begin(Bytes.array(key));
        try {
            while (true) {
                View view = tree.peek();
                int held = view.lease.enter();
                if (held == Lease.RETIRED) {
                    Thread.onSpinWait();
                    continue;
                }
                try {
                    if (!find(view, lookup) || lookup.valueLength == TableFormat.TOMBSTONE) {
                        return false;
                    }
                    reader.accept(lookup.segment.asSlice(lookup.valueOffset, lookup.valueLength));
                    return true;
                } finally {
                    view.lease.exit(held);
                }
            }
        } finally {
            lookup.end();
        }
    }

    private boolean find(View view, Lookup lookup) {
        long sequence = tree.writes().readable();
        if (view.active.find(lookup, sequence) || view.frozen != null && view.frozen.find(lookup, sequence)) {
            counters.readsFromMemory.increment();
            return true;
        }
        if (view.runs.isEmpty()) {
            counters.readsOfNothing.increment();
            return false;
        }
        if (cache == null) {
            return findInRuns(view, lookup);
        }
        MemorySegment cached = cache.get(lookup);
        if (cached != null) {
            counters.cacheHits.increment();
            lookup.found(cached, 0, (int) cached.byteSize());
            return true;
        }
        counters.cacheMisses.increment();
        boolean found = findInRuns(view, lookup);
        if (found && lookup.valueLength != TableFormat.TOMBSTONE) {
            cache.put(lookup, () -> tree.peek() == view);
        }
        return found;
    }

    private boolean findInRuns(View view, Lookup lookup) {
        List<Run> runs = view.runs;
        boolean found = false;
        for (int i = 0; i < runs.size() && !found; i++) {
            found = runs.get(i).find(lookup);
        }
        counters.readOfRuns(lookup, found);
        return found;
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        tree.writes().write(Bytes.array(key), value);
    }

    @Override
    public void delete(MemorySegment key) {
        tree.writes().write(Bytes.array(key), null);
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return tree.snapshot(from, to);
    }

    @Override
    public void flush() {
        tree.flush();
    }

    /** Merges all tables into one run, without deletes, and waits until it is done. */
    public void compact() {
        compactor.compactAll();
    }

    @Override
    public String engine() {
        return "lsm";
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("wal", options.wal().toString());
        settings.put("flush_threshold_bytes", options.flushThresholdBytes());
        settings.put("compaction", options.compaction().toString());
        settings.put("compaction_rate_bytes", options.compactionRateBytes());
        settings.put("block_bytes", TableFormat.BLOCK_BYTES);
        settings.put("bloom_bits_per_key", options.bloomBitsPerKey());
        settings.put("compression", options.compression().toString());
        settings.put("cache_bytes", options.cacheBytes());
        settings.put("max_key_bytes", options.maxKeyBytes());
        settings.put("max_value_bytes", options.maxValueBytes());
        return settings;
    }

    @Override
    public StorageStats stats() {
        return withView(view -> {
            long entries = live(view.active);
            long memtableBytes = view.active.sizeBytes();
            if (view.frozen != null) {
                entries += live(view.frozen);
                memtableBytes += view.frozen.sizeBytes();
            }
            long diskBytes = 0;
            List<Table> tables = view.tables();
            for (Table table : tables) {
                entries += table.entries() - table.tombstones() - table.oldEntries();
                diskBytes += table.sizeBytes();
            }
            return new StorageStats(Math.max(0, entries), memtableBytes, tables.size(), diskBytes);
        });
    }

    /** A delete takes away an older key, or nothing if the key was new, which was counted first. */
    private static long live(Memtable memtable) {
        return memtable.count() - memtable.tombstones() - memtable.oldEntries();
    }

    @Override
    public Map<String, Object> statistics() {
        return withView(counters::report);
    }

    private <R> R withView(java.util.function.Function<View, R> question) {
        while (true) {
            View view = tree.peek();
            int held = view.lease.enter();
            if (held != Lease.RETIRED) {
                try {
                    return question.apply(view);
                } finally {
                    view.lease.exit(held);
                }
            }
            Thread.onSpinWait();
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        StorageException failure = null;
        try {
            tree.flush();
        } catch (StorageException e) {
            failure = options.wal() == LsmOptions.Wal.OFF ? e : logged(e);
        }
        // In any case the folder is given back.
        compactor.close();
        flusher.close();
        housekeeper.close();
        tree.close();
        spares.close();
        lock.close();
        if (failure != null) {
            throw failure;
        }
    }

    /** What could not be flushed is in the log, if that can be forced to disk; the next start reads it. */
    private StorageException logged(StorageException flushFailure) {
        try {
            tree.writes().syncLogs();
            return null;
        } catch (IOException e) {
            flushFailure.addSuppressed(e);
            return flushFailure;
        }
    }
}
