package lab.storage.files;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageStats;
import lab.storage.ValueReader;

/** The engine {@code files}: one file a key. */
public final class FilesStorage implements Storage {

    private final KeyFiles files;
    private final FileLayout layout;

    /** Opens a folder, which is made if it is missing. */
    public FilesStorage(Path folder, FileLayout layout) {
        this.files = new KeyFiles(folder, layout);
        this.layout = layout;
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        byte[] value = files.get(Bytes.array(key));
        if (value == null) {
            return false;
        }
        reader.accept(MemorySegment.ofArray(value));
        return true;
    }

    @Override
    public byte[] get(MemorySegment key) {
        return files.get(Bytes.array(key));
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        files.put(Bytes.array(key), Bytes.array(value));
    }

    @Override
    public void delete(MemorySegment key) {
        files.delete(Bytes.array(key));
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        FileCursor cursor = files.range(from == null ? null : Bytes.array(from), to == null ? null : Bytes.array(to));
        return new Cursor() {
            @Override
            public boolean next() {
                return cursor.next();
            }

            @Override
            public MemorySegment key() {
                return MemorySegment.ofArray(cursor.key());
            }

            @Override
            public MemorySegment value() {
                return MemorySegment.ofArray(cursor.value());
            }

            @Override
            public void close() {
                cursor.close();
            }
        };
    }

    @Override
    public void flush() {
        // Every write is in its file when it returns.
    }

    @Override
    public String engine() {
        return "files";
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("layout", layout.toString(), "sync", "never");
    }

    @Override
    public StorageStats stats() {
        return new StorageStats(files.count(), 0, 1, files.bytes());
    }

    @Override
    public void close() {
        files.close();
    }
}
