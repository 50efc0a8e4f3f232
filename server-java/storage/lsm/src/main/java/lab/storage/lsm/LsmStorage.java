package lab.storage.lsm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import lab.storage.memory.VersionedMap;

/**
 * The engine {@code lsm}: writes go to a sorted memtable, full memtables to immutable sorted files, and files of similar
 * size are merged in the background.
 *
 * <p>There is no write-ahead log: what was written since the last flush is lost if the process is killed. A clean close
 * flushes.
 */
public final class LsmStorage implements Storage {

    private final Path folder;
    private final LsmOptions options;
    private final FolderLock lock;
    private final Tree tree;
    private final Flusher flusher;
    private final Compactor compactor;
    private boolean closed;

    /**
     * Opens a folder, which is made if it is missing.
     *
     * @throws StorageException if another process uses it, or if it cannot be read
     */
    public LsmStorage(Path folder, LsmOptions options) {
        this.folder = folder;
        this.options = options;
        FolderLock taken = null;
        List<Table> tables = new ArrayList<>();
        try {
            Files.createDirectories(folder);
            taken = FolderLock.take(folder);
            TableSet tableSet = TableSet.open(folder, tables);
            this.lock = taken;
            this.tree = new Tree(tableSet, tables, options.flushThresholdBytes());
            this.compactor = new Compactor(tree, tableSet, options.compaction());
            this.flusher = new Flusher(tree, tableSet, compactor::wake);
        } catch (IOException e) {
            releaseAll(tables, taken);
            throw new StorageException("The folder " + folder + " cannot be opened: " + e
                    + ". Check that it exists and that this user may write to it.", e);
        } catch (RuntimeException e) {
            releaseAll(tables, taken);
            throw e;
        }
        compactor.start();
        flusher.start();
    }

    private static void releaseAll(List<Table> tables, FolderLock lock) {
        tables.forEach(Table::release);
        if (lock != null) {
            try {
                lock.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        byte[] bytes = Bytes.array(key);
        while (true) {
            View view = tree.peek();
            VersionedMap.Version version = view.findInMemory(bytes);
            if (version != null) {
                if (version.value() == null) {
                    return false;
                }
                reader.accept(MemorySegment.ofArray(version.value()));
                return true;
            }
            if (view.tables.isEmpty()) {
                return false;
            }
            // A view that nobody holds any more was replaced; the memtable just searched may have become a table.
            if (view.tryRetain()) {
                try {
                    return getFromTables(view.tables, key, reader);
                } finally {
                    view.release();
                }
            }
        }
    }

    private static <X extends Exception> boolean getFromTables(List<Table> tables, MemorySegment key,
            ValueReader<X> reader) throws X {
        for (int i = 0; i < tables.size(); i++) {
            Table table = tables.get(i);
            long entry = table.find(key);
            if (entry >= 0) {
                MemorySegment value = table.valueAt(entry);
                if (value == null) {
                    return false;
                }
                reader.accept(value);
                return true;
            }
        }
        return false;
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        tree.write(checkedKey(key), Bytes.array(value));
    }

    @Override
    public void delete(MemorySegment key) {
        tree.write(checkedKey(key), null);
    }

    private static byte[] checkedKey(MemorySegment key) {
        if (key.byteSize() > TableFormat.MAX_KEY_BYTES) {
            throw new StorageException("The key has " + key.byteSize() + " bytes, but at most "
                    + TableFormat.MAX_KEY_BYTES + " are possible. Use a shorter key.");
        }
        return Bytes.array(key);
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return tree.snapshot(from, to);
    }

    @Override
    public void flush() {
        tree.flush();
    }

    /** Merges all tables into one, without deletes, and waits until it is done. */
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
        settings.put("wal", "off");
        settings.put("flush_threshold_bytes", options.flushThresholdBytes());
        settings.put("compaction", options.compaction().toString());
        settings.put("block_bytes", TableFormat.BLOCK_BYTES);
        settings.put("bloom_bits_per_key", 0);
        settings.put("compression", "none");
        return settings;
    }

    @Override
    public StorageStats stats() {
        View view = tree.retain();
        try {
            long entries = view.active.count() + (view.frozen == null ? 0 : view.frozen.count());
            long memtableBytes = view.active.sizeBytes() + (view.frozen == null ? 0 : view.frozen.sizeBytes());
            long diskBytes = 0;
            for (Table table : view.tables) {
                entries += table.entries() - table.tombstones();
                diskBytes += table.sizeBytes();
            }
            return new StorageStats(entries, memtableBytes, view.tables.size(), diskBytes);
        } finally {
            view.release();
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            tree.flush();
        } finally {
            // In any case the folder is given back; what is not on disk by now is reported by flush.
            compactor.close();
            flusher.close();
            tree.close();
            try {
                lock.close();
            } catch (IOException e) {
                throw new UncheckedIOException("The lock of " + folder + " cannot be given back.", e);
            }
        }
    }
}
