package lab.storage.lsm;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.EngineMarker;
import lab.storage.FolderLock;
import lab.storage.MultiGet;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import lab.storage.lsm.background.Failure;
import lab.storage.lsm.background.Housekeeper;
import lab.storage.lsm.compaction.CompactionPolicy;
import lab.storage.lsm.compaction.Compactor;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.manifest.Recovery;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.memory.MemoryBudget;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.LiveEstimate;
import lab.storage.lsm.table.Lookup;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * The engine {@code lsm}: writes go to a log and a sorted memtable, full memtables to immutable sorted files, and files
 * are merged in the background.
 */
public final class LsmStorage implements Storage, MultiGet {

    private static final String LOCK_FILE = "LOCK";

    private final Path folder;
    private final LsmOptions options;
    private final Disk disk;
    private final Counters counters = new Counters();
    private final Housekeeper housekeeper = new Housekeeper();
    private final FolderLock lock;
    private final Spares spares;
    private final Tree tree;
    private final Lookups lookups;
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
        this(folder, options, disk, View::new);
    }

    /** With views that may fail to be made, for tests. */
    LsmStorage(Path folder, LsmOptions options, Disk disk, View.Maker views) {
        this.folder = folder;
        this.options = options;
        this.disk = disk;
        MemoryBudget memory = options.memory();
        LsmOptions fitted = options.toBuilder().flushThresholdBytes(memory.memtableBytes()).build();
        RowCache cache = options.cacheBytes() == 0 ? null : new RowCache(memory.cacheBytes());
        FolderLock taken = null;
        StoreFolder files = null;
        List<Table> tables = new ArrayList<>();
        try {
            Files.createDirectories(folder);
            EngineMarker.claim(folder, "lsm");
            taken = FolderLock.take(folder, LOCK_FILE);
            this.lock = taken;
            files = StoreFolder.open(folder, disk, fitted, memory, housekeeper);
            this.spares = new Spares(files, fitted, memory, cache, housekeeper);
            CompactionPolicy policy = CompactionPolicy.of(fitted);
            List<Run> runs = files.openTables(tables);
            Recovery recovery = new Recovery(files, spares::newMemtable, fitted, runs);
            files.begin(runs, recovery.logsAreWhole());
            recovery.run(tables);
            this.tree = new Tree(files, fitted, counters, spares, recovery, spares.newLog(), policy, memory, views);
            this.lookups = new Lookups(tree, counters, cache);
            this.compactor = new Compactor(tree, files, fitted, policy);
            this.flusher = new Flusher(tree, files, counters, cache, compactor::wake);
        } catch (IOException e) {
            releaseAll(tables, files, taken);
            throw Failure.of("The folder " + folder + " cannot be opened", e,
                    "Check that it exists, that this user may write to it and that its disk is whole, and start again.");
        } catch (RuntimeException e) {
            releaseAll(tables, files, taken);
            throw e;
        }
        tables.forEach(Table::release);
        spares.begin(tree);
        compactor.start();
        flusher.start();
    }

    private void releaseAll(List<Table> tables, StoreFolder files, FolderLock taken) {
        tables.forEach(Table::release);
        if (files != null) {
            files.close();
        }
        housekeeper.close();
        if (taken != null) {
            taken.close();
        }
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        return lookups.get(key, reader);
    }

    @Override
    public <X extends Exception> void get(List<MemorySegment> keys, MultiGet.Reader<X> reader) throws X {
        tree.snapshots().atOneMoment((view, sequence) -> {
            lookups.get(view, sequence, keys, reader);
            return null;
        });
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        tree.writes().write(Bytes.array(key), value);
    }

    @Override
    public void delete(MemorySegment key) {
        tree.writes().write(Bytes.array(key), null);
    }

    /**
     * Walks over a part as it is now. A reader that is so slow that it keeps more memtables than one flush threshold is cut
     * off: its next move fails, and so does reading a value of more than 32 KiB that it was shown out of a memtable, with
     * {@link IllegalStateException}. Neither ever shows other bytes.
     */
    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return tree.snapshots().cursor(from, to);
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
        return options.report();
    }

    @Override
    public StorageStats stats() {
        return withView(view -> {
            long entries = 0;
            long memtableBytes = 0;
            for (Memtable memtable : view.memtables()) {
                entries += live(memtable, view.runs);
                memtableBytes += memtable.sizeBytes();
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
    private static long live(Memtable memtable, List<Run> runs) {
        Lookup lookup = new Lookup();
        long old = runs.isEmpty() ? 0 : memtable.estimate((key, length) ->
                LiveEstimate.contains(runs, lookup, key, length, Keys.hash(key, length)));
        return memtable.count() - memtable.tombstones() - old;
    }

    @Override
    public Map<String, Object> statistics() {
        return withView(view -> {
            Map<String, Object> all = counters.report(view);
            spares.reportMemory(view, all);
            return all;
        });
    }

    private <R> R withView(java.util.function.Function<View, R> question) {
        while (true) {
            View view = tree.peek();
            int held = view.pins.enter();
            if (held != Pins.RETIRED) {
                try {
                    return question.apply(view);
                } finally {
                    view.pins.exit(held);
                }
            }
            tree.awaitNextView();
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        StorageException failure = null;
        // First, or a write that comes while the rest is flushed would be in a log that nobody forces to disk.
        tree.writes().close();
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
            tree.syncLogs();
            return null;
        } catch (IOException e) {
            flushFailure.addSuppressed(e);
            return flushFailure;
        }
    }
}
