package lab.storage.conformance;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.StorageException;
import org.junit.jupiter.api.Test;

/** What every engine that keeps its entries on disk must do, in addition to what all must do. */
public abstract class DurableConformance extends StorageConformance {

    @Test
    void entriesSurviveCloseAndOpen() {
        int entries = 5_000;
        for (int i = 0; i < entries; i++) {
            put(String.format("key%05d", i), "value" + i);
        }
        storage.delete(utf8("key00042"));
        storage.close();
        storage = open(folder);
        assertEquals("value4999", get("key04999"));
        assertNull(get("key00042"));
        assertEquals(entries - 1, range(null, null).size());
        put("key00042", "again");
        storage.close();
        storage = open(folder);
        assertEquals("again", get("key00042"));
    }

    @Test
    void removedFolderIsMadeAgain() {
        try (Storage other = open(folder.resolve("not/there/yet"))) {
            other.put(utf8("a"), utf8("1"));
            assertNotNull(other.get(utf8("a")));
        }
    }

    @Test
    void refusingAStoreOfTheSameProcessDoesNotLetOthersIn() throws IOException {
        Path sameFolder = folder.resolve("..").resolve(folder.getFileName());
        for (Path again : new Path[] {folder, sameFolder}) {
            String refused = assertThrows(StorageException.class, () -> open(again)).getMessage();
            assertTrue(refused.contains("in use") && refused.contains(folder.getFileName().toString()), refused);
        }
        String refused = SecondProcess.open(getClass(), folder);
        assertTrue(refused.contains("in use") && refused.contains("--data"), refused);
        put("a", "1");
        assertEquals("1", get("a"));
        storage.close();
        String allowed = SecondProcess.open(getClass(), folder);
        assertTrue(allowed.startsWith(SecondProcess.OPENED), allowed);
        storage = open(folder);
        assertEquals("1", get("a"));
    }
}
