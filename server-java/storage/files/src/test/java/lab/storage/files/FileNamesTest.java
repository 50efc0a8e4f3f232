package lab.storage.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class FileNamesTest {

    private static final int MAX_NAME_BYTES = 255;

    @Property
    void nameTellsItsKeyOrIsHashed(@ForAll @Size(min = 1, max = 300) byte[] key) {
        String name = FileNames.of(key);
        assertTrue(name.length() <= MAX_NAME_BYTES, name);
        assertTrue(name.matches("[a-z0-9_%~-]+"), name);
        if (!FileNames.isHashed(name)) {
            assertArrayEquals(key, FileNames.key(name));
        }
    }

    @Property
    void differentKeysHaveNamesThatDifferInMoreThanCase(@ForAll @Size(min = 1, max = 4) byte[] key,
            @ForAll @Size(min = 1, max = 4) byte[] other) {
        if (Arrays.equals(key, other)) {
            assertEquals(FileNames.of(key), FileNames.of(other));
        } else {
            assertNotEquals(FileNames.of(key).toLowerCase(Locale.ROOT), FileNames.of(other).toLowerCase(Locale.ROOT));
        }
    }

    @Test
    void publishedKeysAreTheirOwnNames() {
        assertEquals("key1042", FileNames.of("key1042".getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void keysThatWouldLeaveTheFolderAreEscaped() {
        assertEquals("%2e%2e%2fx", FileNames.of("../x".getBytes(StandardCharsets.US_ASCII)));
        assertFalse(FileNames.of(new byte[] {'.'}).startsWith("."));
        assertFalse(FileNames.isHashed(FileNames.of(new byte[] {'~'})));
    }
}
