package lab.storage.leveldb;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.EngineMarker;
import lab.storage.FolderLock;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.StorageFullException;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.impl.DbImpl;

/**
 * The engine {@code leveldb}: LevelDB in Java. It writes a log that is not synced, has no bloom filter and no cache of
 * blocks, and one lock for all writers.
 */
public final class LevelDbStorage implements Storage {

    private static final int SAMPLE_ENTRIES = 1_000;
    /** A failed merge in the background stops LevelDB, for reads too; a write that waits for it then waits without end. */
    private static final String FULL_REMEDY =
            "Free space and start the server again: before, LevelDB takes no writes, and may refuse reads.";
    /** Less room than this is a full disk: a merge that failed on it may have given back just now what it had written. */
    private static final long LITTLE_ROOM_BYTES = 32 << 20;

    private final Path folder;
    private final LevelDbSettings settings;
    private final DbImpl db;
    private final FolderLock lock;
    private final long entriesAtOpen;
    private final AtomicLong written = new AtomicLong();
    /** Why a write found no room. LevelDB might take the next one, and not find it behind a torn record of its log. */
    private volatile Throwable full;
    private boolean closed;

    /**
     * Opens a folder, which is made if it is missing.
     *
     * @throws StorageException if another process uses it, or if it cannot be read
     */
    public LevelDbStorage(Path folder, LevelDbSettings settings) {
        this.folder = folder;
        this.settings = settings;
        Options options = new Options().createIfMissing(true).compressionType(CompressionType.NONE)
                .writeBufferSize(settings.writeBufferBytes());
        FolderLock taken = null;
        try {
            Files.createDirectories(folder);
            EngineMarker.claim(folder, "leveldb");
            taken = FolderLock.takeInThisProcess(folder);
            db = new DbImpl(options, folder.toFile());
        } catch (StorageException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            if (taken != null) {
                taken.close();
            }
            throw openFailed(folder, e);
        }
        lock = taken;
        entriesAtOpen = estimateEntries();
    }

    private static StorageException openFailed(Path folder, Exception e) {
        return String.valueOf(e.getMessage()).contains("lock")
                ? new StorageException("The folder " + folder + " is in use by another process (" + e
                        + "). Stop that process, or choose another folder with --data.", e)
                : new StorageException("The folder " + folder + " cannot be opened by LevelDB: " + e.getMessage()
                        + ". Check that this user may write to it and that it holds a LevelDB store or nothing.", e);
    }

    private StorageException failed(String what, Throwable e) {
        String message = "LevelDB in " + folder + " cannot " + what;
        if (e == full || isFull(e)) {
            full = e;
            return StorageFullException.of(message, e, FULL_REMEDY);
        }
        return new StorageException(message + ": " + e.getMessage() + ". See the file LOG in that folder.", e);
    }

    private void refuseIfFull(String what) {
        Throwable before = full;
        if (before != null) {
            throw failed(what, before);
        }
    }

    /**
     * LevelDB writes its log through a mapping of a file that it does not reserve. Where the disk has no room for a page of
     * it the process gets a signal, which Java makes an {@link InternalError}; nothing in that says why, so the room that
     * is left must.
     */
    private boolean isFull(Throwable e) {
        if (StorageFullException.isNamedBy(e)) {
            return true;
        }
        try {
            return e instanceof InternalError && Files.getFileStore(folder).getUsableSpace() < LITTLE_ROOM_BYTES;
        } catch (IOException unknown) {
            e.addSuppressed(unknown);
            return false;
        }
    }

    /** LevelDB does not count; what lies on disk is divided by the size of the first entries. */
    private long estimateEntries() {
        long entries = 0;
        long bytes = 0;
        try (Cursor cursor = range(null, null)) {
            while (entries < SAMPLE_ENTRIES && cursor.next()) {
                entries++;
                bytes += cursor.key().byteSize() + cursor.value().byteSize();
            }
        }
        return entries < SAMPLE_ENTRIES ? entries : Math.max(entries, diskBytes() / Math.max(1, bytes / entries));
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
        } catch (DBException e) {
            throw new StorageException("LevelDB in " + folder + " cannot read: " + e.getMessage()
                    + ". See the file LOG in that folder, and start the server again.", e);
        }
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        refuseIfFull("write");
        try {
            db.put(Bytes.array(key), Bytes.array(value));
            written.getAndIncrement();
        } catch (DBException | InternalError e) {
            throw failed("write", e);
        }
    }

    @Override
    public void delete(MemorySegment key) {
        refuseIfFull("delete");
        try {
            db.delete(Bytes.array(key));
        } catch (DBException | InternalError e) {
            throw failed("delete", e);
        }
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return new LevelDbCursor(db, from == null ? null : Bytes.array(from), to == null ? null : Bytes.array(to));
    }

    @Override
    public void flush() {
        try {
            db.flushMemTable();
        } catch (DBException e) {
            throw failed("flush", e);
        }
    }

    @Override
    public String engine() {
        return "leveldb";
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("preset", settings.toString());
        all.put("wal", "buffered");
        all.put("write_buffer_bytes", settings.writeBufferBytes());
        all.put("compression", "none");
        all.put("bloom_bits_per_key", 0);
        return all;
    }

    /** Entries are an estimate: those at the start, by their size, and every write since. */
    @Override
    public StorageStats stats() {
        return new StorageStats(entriesAtOpen + written.get(), 0, tables(), diskBytes());
    }

    private int tables() {
        int[] tables = {0};
        eachFile((name, size) -> tables[0] += name.endsWith(".sst") ? 1 : 0);
        return tables[0];
    }

    private long diskBytes() {
        long[] bytes = {0};
        eachFile((name, size) -> bytes[0] += name.endsWith(".sst") || name.endsWith(".log") ? size : 0);
        return bytes[0];
    }

    private interface FileReader {
        void file(String name, long size);
    }

    private void eachFile(FileReader reader) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                try {
                    reader.file(file.getFileName().toString(), Files.size(file));
                } catch (NoSuchFileException e) {
                    // Compaction has just deleted it.
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The files in " + folder + " cannot be listed.", e);
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                db.close();
            } finally {
                lock.close();
            }
        }
    }
}
