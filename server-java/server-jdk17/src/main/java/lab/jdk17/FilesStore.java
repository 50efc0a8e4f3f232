package lab.jdk17;

import java.nio.file.Path;
import java.util.Map;
import lab.storage.files.FileCursor;
import lab.storage.files.FileLayout;
import lab.storage.files.KeyFiles;

/** One file a key. */
final class FilesStore implements Store {

    private final KeyFiles files;
    private final FileLayout layout;

    FilesStore(Path folder, FileLayout layout) {
        this.files = new KeyFiles(folder, layout);
        this.layout = layout;
    }

    @Override
    public byte[] get(byte[] key) {
        return files.get(key);
    }

    @Override
    public void put(byte[] key, byte[] value) {
        files.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
        files.delete(key);
    }

    @Override
    public Entries range(byte[] from, byte[] to) {
        FileCursor cursor = files.range(from, to);
        return new Entries() {
            @Override
            public boolean next() {
                return cursor.next();
            }

            @Override
            public byte[] key() {
                return cursor.key();
            }

            @Override
            public byte[] value() {
                return cursor.value();
            }

            @Override
            public void close() {
                cursor.close();
            }
        };
    }

    @Override
    public long count() {
        return files.count();
    }

    @Override
    public long diskBytes() {
        return files.bytes();
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("layout", layout.toString(), "sync", "never");
    }

    @Override
    public void close() {
        files.close();
    }
}
