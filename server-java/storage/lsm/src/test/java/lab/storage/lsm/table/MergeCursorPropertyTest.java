package lab.storage.lsm.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import lab.storage.lsm.disk.Encoding;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** A merge shows each key once, in order, as the newest source has it. */
class MergeCursorPropertyTest {

    private static final int MOST_ENTRIES = 12;
    private static final int DELETE_ONE_IN = 4;

    private static TreeMap<byte[], byte[]> sorted() {
        return new TreeMap<>(Arrays::compareUnsigned);
    }

    /** Few different keys, so that most are in many sources; some differ only behind their first eight bytes. */
    private static byte[] key(Random random) {
        int number = random.nextInt(10);
        byte[] key = new byte[number % 2 == 0 ? 1 : Long.BYTES + 1];
        key[key.length - 1] = (byte) (number * 25);
        return key;
    }

    private static List<TreeMap<byte[], byte[]>> sources(int count, Random random) {
        List<TreeMap<byte[], byte[]>> newestFirst = new ArrayList<>();
        for (int source = 0; source < count; source++) {
            TreeMap<byte[], byte[]> entries = sorted();
            for (int i = random.nextInt(MOST_ENTRIES + 1); i > 0; i--) {
                entries.put(key(random), random.nextInt(DELETE_ONE_IN) == 0 ? null : new byte[] {(byte) source});
            }
            newestFirst.add(entries);
        }
        return newestFirst;
    }

    @Property(tries = 1_000)
    void showsTheNewestOfEachKeyInOrder(@ForAll @IntRange(max = 9) int count, @ForAll boolean dropTombstones,
            @ForAll Random random) {
        List<TreeMap<byte[], byte[]>> newestFirst = sources(count, random);
        TreeMap<byte[], byte[]> expected = sorted();
        newestFirst.reversed().forEach(expected::putAll);
        if (dropTombstones) {
            expected.values().removeIf(value -> value == null);
        }
        MergeCursor merged = new MergeCursor(newestFirst.stream().map(MapCursor::new).toList(), dropTombstones);
        for (Map.Entry<byte[], byte[]> entry : expected.entrySet()) {
            assertTrue(merged.next());
            assertArrayEquals(entry.getKey(), Arrays.copyOf(merged.key(), merged.keyLength()));
            assertEquals(Keys.prefix(entry.getKey(), 0, entry.getKey().length), merged.prefix());
            if (entry.getValue() == null) {
                assertEquals(EntryCursor.TOMBSTONE, merged.valueLength());
            } else {
                assertEquals(1, merged.valueLength());
                assertEquals(entry.getValue()[0], merged.valueSegment().get(Encoding.BYTE, merged.valueOffset()));
            }
        }
        assertFalse(merged.next());
        assertFalse(merged.next(), "a merge that has ended stays so");
    }
}
