package lab.storage.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.StorageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RocksDbFolderTest {

    @TempDir
    private Path folder;

    @Test
    void secondStoreInOneFolderIsRefused() {
        try (Storage first = new RocksDbStorage(folder)) {
            StorageException refused = assertThrows(StorageException.class, () -> new RocksDbStorage(folder));
            assertTrue(refused.getMessage().contains("in use"), refused.getMessage());
            assertTrue(refused.getMessage().contains(folder.toString()), refused.getMessage());
            assertEquals("rocksdb", first.engine());
        }
    }

    @Test
    void runsWithThePublishedSettings() {
        try (Storage storage = new RocksDbStorage(folder)) {
            assertEquals("buffered", storage.settings().get("wal"));
            assertEquals(0, storage.settings().get("bloom_bits_per_key"));
        }
    }
}
