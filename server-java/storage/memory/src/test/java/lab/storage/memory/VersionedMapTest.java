package lab.storage.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class VersionedMapTest {

    private static final byte[] KEY = bytes("key");

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void higherSequenceWinsInWhicheverOrderWritesArrive() {
        VersionedMap map = new VersionedMap();
        map.put(KEY, bytes("second"), 2, 0);
        map.put(KEY, bytes("first"), 1, 0);
        assertArrayEquals(bytes("second"), map.get(KEY).value());
    }

    @Test
    void olderVersionIsKeptOnlyForASnapshot() {
        VersionedMap map = new VersionedMap();
        map.put(KEY, bytes("1"), 1, 0);
        map.put(KEY, bytes("2"), 2, 0);
        assertNull(map.get(KEY).older());
        map.put(KEY, bytes("3"), 3, 2);
        assertArrayEquals(bytes("2"), map.get(KEY).asOf(2).value());
        map.put(KEY, bytes("4"), 4, 2);
        assertEquals(2, map.get(KEY).older().sequence(), "the version that no snapshot sees is gone");
        map.put(KEY, bytes("5"), 5, 0);
        assertNull(map.get(KEY).older());
    }

    @Test
    void sizeCountsWhatIsHeldAndForgetsWhatIsReplaced() {
        VersionedMap map = new VersionedMap();
        map.put(KEY, new byte[1000], 1, 0);
        long once = map.sizeBytes();
        map.put(KEY, new byte[1000], 2, 0);
        assertEquals(once, map.sizeBytes());
        map.put(KEY, new byte[1000], 3, 2);
        assertTrue(map.sizeBytes() >= once + 1000);
        map.put(KEY, null, 4, 0);
        assertEquals(VersionedMap.entryBytes(KEY, null), map.sizeBytes());
        assertTrue(map.remove(KEY, map.get(KEY)));
        assertEquals(0, map.sizeBytes());
        assertEquals(0, map.count());
    }

    @Property(tries = 200)
    void everySnapshotSeesItsMoment(@ForAll @Size(max = 60) List<@IntRange(min = 0, max = 15) Integer> writes,
            @ForAll @IntRange(min = 0, max = 60) int snapshotAfter) {
        VersionedMap map = new VersionedMap();
        TreeMap<String, String> model = new TreeMap<>();
        List<String> expected = new ArrayList<>();
        long snapshot = 0;
        for (int i = 0; i < writes.size(); i++) {
            if (i == snapshotAfter) {
                snapshot = i;
                model.forEach((key, value) -> expected.add(key + "=" + value));
            }
            // Five keys, and every third kind of write is a delete.
            String key = "k" + writes.get(i) % 5;
            String value = writes.get(i) % 3 == 0 ? null : "v" + i;
            model.put(key, String.valueOf(value));
            map.put(bytes(key), value == null ? null : bytes(value), i + 1, snapshot);
        }
        if (snapshot > 0) {
            List<String> seen = new ArrayList<>();
            VersionedCursor cursor = new VersionedCursor(map, null, null, snapshot);
            while (cursor.next()) {
                seen.add(text(cursor.key()) + "=" + (cursor.value() == null ? "null" : text(cursor.value())));
            }
            assertEquals(expected, seen);
        }
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
