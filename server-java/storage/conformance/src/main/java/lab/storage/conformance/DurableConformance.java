package lab.storage.conformance;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import lab.storage.Storage;
import org.junit.jupiter.api.Test;

/** What every engine that keeps its entries on disk must do, beside what all must do. */
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
}
