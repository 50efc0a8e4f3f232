package lab.storage.rocksdb;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.FolderLock;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.StorageFullException;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;
import org.rocksdb.WriteOptions;

/**
 * The engine {@code rocksdb}, with the defaults of its Java binding: write-ahead log on, not synced on each write, no
 * bloom filter.
 */
public final class RocksDbStorage implements Storage {

    static {
        RocksDB.loadLibrary();
    }

    private static final String NO_SPACE = "No space left on device";
    /** A failed write of its log stops RocksDB; its binding for Java has no way to have it go on. */
    private static final String FULL_REMEDY =
            "Free space and start the server again: RocksDB takes no writes before. Reads go on.";
    private static final int TUNED_BLOOM_BITS = 10;
    private static final long TUNED_CACHE_BYTES = 64L << 20;

    private final Path folder;
    private final Options options = new Options();
    private final WriteOptions writeOptions = new WriteOptions();
    private final RocksDB db;
    private final FolderLock lock;
    /** Null with the defaults. */
    private BloomFilter filter;
    private LRUCache cache;
    private boolean closed;

    /**
     * Opens a folder, which is made if it is missing.
     *
     * @throws StorageException if another process uses it, or if it cannot be read
     */
    public RocksDbStorage(Path folder) {
        this(folder, false, 0);
    }

    /**
     * Opens a folder with settings for reads from memory: Bloom filters of 10 bits a key, a block cache of 64 MiB,
     * nothing packed.
     *
     * @param memtableBytes size of a memtable
     * @throws StorageException if another process uses it, or if it cannot be read
     */
    public static RocksDbStorage tuned(Path folder, long memtableBytes) {
        return new RocksDbStorage(folder, true, memtableBytes);
    }

    private RocksDbStorage(Path folder, boolean tuned, long memtableBytes) {
        this.folder = folder;
        options.setCreateIfMissing(true);
        if (tuned) {
            tune(memtableBytes);
        }
        FolderLock taken = null;
        try {
            Files.createDirectories(folder);
            // RocksDB knows its own folders by their names, of which one folder has many.
            taken = FolderLock.takeInThisProcess(folder);
            db = RocksDB.open(options, folder.toString());
        } catch (RocksDBException | IOException e) {
            closeOptions();
            if (taken != null) {
                taken.close();
            }
            throw openFailed(folder, e);
        } catch (StorageException e) {
            closeOptions();
            throw e;
        }
        lock = taken;
    }

    private void closeOptions() {
        writeOptions.close();
        options.close();
        if (filter != null) {
            filter.close();
            cache.close();
        }
    }

    private void tune(long memtableBytes) {
        filter = new BloomFilter(TUNED_BLOOM_BITS);
        cache = new LRUCache(TUNED_CACHE_BYTES);
        options.setWriteBufferSize(memtableBytes).setCompressionType(CompressionType.NO_COMPRESSION)
                .setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter).setBlockCache(cache));
    }

    private static StorageException openFailed(Path folder, Exception e) {
        boolean locked = e instanceof RocksDBException rocks && rocks.getStatus() != null
                && rocks.getStatus().getCode() == Status.Code.IOError
                && String.valueOf(rocks.getMessage()).contains("lock");
        return locked
                ? new StorageException("The folder " + folder + " is in use by another process (" + e.getMessage()
                        + "). Stop that process, or choose another folder with --data.", e)
                : new StorageException("The folder " + folder + " cannot be opened by RocksDB: " + e.getMessage()
                        + ". Check that this user may write to it and that it holds a RocksDB store or nothing.", e);
    }

    private StorageException failed(String what, RocksDBException e) {
        boolean full = e.getStatus() != null && e.getStatus().getSubCode() == Status.SubCode.NoSpace
                || String.valueOf(e.getMessage()).contains(NO_SPACE);
        String told = "RocksDB in " + folder + " cannot " + what;
        return full ? StorageFullException.of(told, e, FULL_REMEDY)
                : new StorageException(told + ": " + e.getMessage() + ". See the file LOG in that folder.", e);
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        byte[] value = get(key);
        if (value == null) {
            return false;
        }
        reader.accept(MemorySegment.ofArray(value));
        return true;
    }

    @Override
    public byte[] get(MemorySegment key) {
        try {
            return db.get(Bytes.array(key));
        } catch (RocksDBException e) {
            throw failed("read", e);
        }
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        try {
            db.put(writeOptions, Bytes.array(key), Bytes.array(value));
        } catch (RocksDBException e) {
            throw failed("write", e);
        }
    }

    @Override
    public void delete(MemorySegment key) {
        try {
            db.delete(writeOptions, Bytes.array(key));
        } catch (RocksDBException e) {
            throw failed("delete", e);
        }
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return new RocksDbCursor(db, from, to);
    }

    @Override
    public void flush() {
        try (FlushOptions flushOptions = new FlushOptions().setWaitForFlush(true)) {
            db.flush(flushOptions);
        } catch (RocksDBException e) {
            throw failed("flush", e);
        }
    }

    @Override
    public String engine() {
        return "rocksdb";
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("version", RocksDB.rocksdbVersion().toString());
        settings.put("wal", writeOptions.disableWAL() ? "off" : writeOptions.sync() ? "sync" : "buffered");
        settings.put("write_buffer_bytes", options.writeBufferSize());
        settings.put("compaction", options.compactionStyle().toString().toLowerCase(java.util.Locale.ROOT));
        settings.put("compression", options.compressionType().toString().toLowerCase(java.util.Locale.ROOT));
        settings.put("bloom_bits_per_key", filter == null ? 0 : TUNED_BLOOM_BITS);
        settings.put("block_cache", cache == null ? "default" : TUNED_CACHE_BYTES);
        return settings;
    }

    @Override
    public StorageStats stats() {
        try {
            return new StorageStats(db.getLongProperty("rocksdb.estimate-num-keys"),
                    db.getLongProperty("rocksdb.cur-size-all-mem-tables"), liveFiles(),
                    db.getLongProperty("rocksdb.total-sst-files-size"));
        } catch (RocksDBException e) {
            throw failed("tell its sizes", e);
        }
    }

    private int liveFiles() throws RocksDBException {
        int files = 0;
        for (int level = 0; level < options.numLevels(); level++) {
            files += Integer.parseInt(db.getProperty("rocksdb.num-files-at-level" + level).strip());
        }
        return files;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            // What is not in tables yet lies in the log; the log is synced so that a loss of power keeps it too.
            db.syncWal();
        } catch (RocksDBException e) {
            throw failed("sync its log", e);
        } finally {
            db.close();
            closeOptions();
            lock.close();
        }
    }
}
