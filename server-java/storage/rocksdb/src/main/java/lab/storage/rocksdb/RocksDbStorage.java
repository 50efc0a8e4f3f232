package lab.storage.rocksdb;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.EngineMarker;
import lab.storage.FolderLock;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.StorageFullException;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompactionStyle;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RateLimiter;
import org.rocksdb.RateLimiterMode;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksObject;
import org.rocksdb.Status;
import org.rocksdb.WriteOptions;

/**
 * The engine {@code rocksdb}; by default with the defaults of its Java binding: write-ahead log on, not synced on each
 * write, no bloom filter. Keys and values pass through direct buffers, without an array in between.
 */
public final class RocksDbStorage implements Storage {

    static {
        RocksDB.loadLibrary();
    }

    private static final String NO_SPACE = "No space left on device";
    /** A failed write of its log stops RocksDB; its binding for Java has no way to have it go on. */
    private static final String FULL_REMEDY =
            "Free space and start the server again: RocksDB takes no writes before. Reads go on.";
    /** More than any merging takes: the limiter finds the rate itself, between a twentieth of this and this. */
    private static final long PACED_RATE_BYTES = 256L << 20;
    private static final long PACED_REFILL_US = 100_000;
    private static final long PACED_SYNC_BYTES = 1L << 20;

    private final Path folder;
    private final RocksDbSettings settings;
    private final Options options = new Options();
    private final WriteOptions writeOptions = new WriteOptions();
    private final ReadOptions readOptions = new ReadOptions().setVerifyChecksums(true);
    private final ThreadLocal<DirectBuffers> buffers = ThreadLocal.withInitial(DirectBuffers::new);
    /** What the options point to, to be closed after them. */
    private final List<RocksObject> parts = new ArrayList<>();
    private final RocksDB db;
    private final FolderLock lock;
    private boolean closed;

    /**
     * Opens a folder with the defaults; it is made if it is missing.
     *
     * @throws StorageException if another process uses it, or if it cannot be read
     */
    public RocksDbStorage(Path folder) {
        this(folder, RocksDbSettings.DEFAULTS);
    }

    /**
     * Opens a folder, which is made if it is missing.
     *
     * @throws StorageException if another process uses it, or if it cannot be read
     */
    public RocksDbStorage(Path folder, RocksDbSettings settings) {
        this.folder = folder;
        this.settings = settings;
        configure();
        FolderLock taken = null;
        try {
            Files.createDirectories(folder);
            EngineMarker.claim(folder, "rocksdb");
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

    private void configure() {
        options.setCreateIfMissing(true).setAllowMmapReads(settings.mmapReads());
        writeOptions.setSync(settings.sync());
        if (settings.memtableBytes() > 0) {
            options.setWriteBufferSize(settings.memtableBytes());
        }
        if (!settings.compressed()) {
            options.setCompressionType(CompressionType.NO_COMPRESSION);
        }
        if (settings.universal()) {
            options.setCompactionStyle(CompactionStyle.UNIVERSAL);
        }
        if (settings.paced()) {
            options.setRateLimiter(part(new RateLimiter(PACED_RATE_BYTES, PACED_REFILL_US, RateLimiter.DEFAULT_FAIRNESS,
                    RateLimiterMode.WRITES_ONLY, true)));
            options.setBytesPerSync(PACED_SYNC_BYTES).setWalBytesPerSync(PACED_SYNC_BYTES);
        }
        if (settings.bloomBitsPerKey() == 0 && settings.cacheBytes() == 0) {
            return;
        }
        BlockBasedTableConfig tables = new BlockBasedTableConfig();
        if (settings.bloomBitsPerKey() > 0) {
            tables.setFilterPolicy(part(new BloomFilter(settings.bloomBitsPerKey())));
        }
        if (settings.cacheBytes() > 0) {
            tables.setBlockCache(part(new LRUCache(settings.cacheBytes())));
        }
        options.setTableFormatConfig(tables);
    }

    private <P extends RocksObject> P part(P made) {
        parts.add(made);
        return made;
    }

    private void closeOptions() {
        readOptions.close();
        writeOptions.close();
        options.close();
        parts.forEach(RocksObject::close);
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
        String message = "RocksDB in " + folder + " cannot " + what;
        return full ? StorageFullException.of(message, e, FULL_REMEDY)
                : new StorageException(message + ": " + e.getMessage() + ". See the file LOG in that folder.", e);
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        if (!DirectBuffers.takes(key)) {
            return show(largeValue(key), reader);
        }
        DirectBuffers borrowed = DirectBuffers.borrow(buffers);
        try {
            ByteBuffer value = borrowed.emptyValue(0);
            int length = db.get(readOptions, borrowed.key(key), value);
            while (length > value.capacity()) {
                if (length > DirectBuffers.LARGEST_BYTES) {
                    return show(largeValue(key), reader);
                }
                value = borrowed.emptyValue(length);
                length = db.get(readOptions, borrowed.key(key), value);
            }
            if (length == RocksDB.NOT_FOUND) {
                return false;
            }
            reader.accept(MemorySegment.ofBuffer(value));
            return true;
        } catch (RocksDBException e) {
            throw failed("read", e);
        } finally {
            borrowed.giveBack();
        }
    }

    private byte[] largeValue(MemorySegment key) {
        try {
            return db.get(readOptions, Bytes.array(key));
        } catch (RocksDBException e) {
            throw failed("read", e);
        }
    }

    private static <X extends Exception> boolean show(byte[] value, ValueReader<X> reader) throws X {
        if (value == null) {
            return false;
        }
        reader.accept(MemorySegment.ofArray(value));
        return true;
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        DirectBuffers borrowed = DirectBuffers.borrow(buffers);
        try {
            if (DirectBuffers.takes(key) && DirectBuffers.takes(value)) {
                db.put(writeOptions, borrowed.key(key), borrowed.value(value));
            } else {
                db.put(writeOptions, Bytes.array(key), Bytes.array(value));
            }
        } catch (RocksDBException e) {
            throw failed("write", e);
        } finally {
            borrowed.giveBack();
        }
    }

    @Override
    public void delete(MemorySegment key) {
        DirectBuffers borrowed = DirectBuffers.borrow(buffers);
        try {
            if (DirectBuffers.takes(key)) {
                db.delete(writeOptions, borrowed.key(key));
            } else {
                db.delete(writeOptions, Bytes.array(key));
            }
        } catch (RocksDBException e) {
            throw failed("delete", e);
        } finally {
            borrowed.giveBack();
        }
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return new RocksDbCursor(db, readOptions, DirectBuffers.borrow(buffers), from, to);
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
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("version", RocksDB.rocksdbVersion().toString());
        all.put("wal", writeOptions.disableWAL() ? "off" : writeOptions.sync() ? "sync" : "buffered");
        all.put("write_buffer_bytes", options.writeBufferSize());
        all.put("max_background_jobs", options.maxBackgroundJobs());
        all.put("compaction", options.compactionStyle().toString().toLowerCase(Locale.ROOT));
        all.put("compression", options.compressionType().toString().toLowerCase(Locale.ROOT));
        all.put("bloom_bits_per_key", settings.bloomBitsPerKey());
        all.put("block_cache", settings.cacheBytes() == 0 ? "default" : settings.cacheBytes());
        all.put("verify_checksums", readOptions.verifyChecksums());
        all.put("allow_mmap_reads", options.allowMmapReads());
        all.put("rate_limit_bytes", settings.paced() ? PACED_RATE_BYTES : 0);
        all.put("bytes_per_sync", options.bytesPerSync());
        all.put("wal_bytes_per_sync", options.walBytesPerSync());
        return all;
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
