package lab.storage.leveldb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import lab.storage.Bytes;
import lab.storage.Storage;
import lab.storage.StorageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LevelDbFolderTest {

    @TempDir
    private Path folder;

    @Test
    void secondStoreInOneFolderIsRefused() {
        try (Storage first = new LevelDbStorage(folder, LevelDbSettings.PUBLISHED)) {
            StorageException refused = assertThrows(StorageException.class,
                    () -> new LevelDbStorage(folder, LevelDbSettings.PUBLISHED));
            assertTrue(refused.getMessage().contains("in use"), refused.getMessage());
            assertTrue(refused.getMessage().contains(folder.toString()), refused.getMessage());
            assertEquals("leveldb", first.engine());
        }
    }

    @Test
    void presetsDifferInTheirMemtableAndReadEachOthersFiles() {
        try (Storage published = new LevelDbStorage(folder, LevelDbSettings.PUBLISHED)) {
            assertEquals(4 << 20, published.settings().get("write_buffer_bytes"));
            assertEquals("none", published.settings().get("compression"));
            published.put(Bytes.utf8("a"), Bytes.utf8("1"));
        }
        try (Storage tuned = new LevelDbStorage(folder, LevelDbSettings.TUNED)) {
            assertEquals(16 << 20, tuned.settings().get("write_buffer_bytes"));
            assertEquals("1", new String(tuned.get(Bytes.utf8("a"))));
        }
    }

    @Test
    void entriesOfBeforeAreEstimatedBySize() {
        int entries = 20_000;
        try (Storage storage = new LevelDbStorage(folder, LevelDbSettings.PUBLISHED)) {
            for (int i = 0; i < entries; i++) {
                storage.put(Bytes.utf8("key" + i), Bytes.utf8("x".repeat(500)));
            }
            assertEquals(entries, storage.stats().entriesEstimate());
        }
        try (Storage storage = new LevelDbStorage(folder, LevelDbSettings.PUBLISHED)) {
            long estimate = storage.stats().entriesEstimate();
            assertTrue(estimate > entries / 2 && estimate < entries * 2, "estimate is " + estimate);
        }
    }
}
