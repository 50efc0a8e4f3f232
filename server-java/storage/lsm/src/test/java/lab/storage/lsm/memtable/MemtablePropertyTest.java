package lab.storage.lsm.memtable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.memory.NativeMemory;
import lab.storage.lsm.table.Lookup;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** A memtable shows what a sorted map shows, at each moment of its past. */
class MemtablePropertyTest {

    private static final long THRESHOLD_BYTES = 1 << 20;

    private static Memtable memtable() {
        return new Memtable(memory(), THRESHOLD_BYTES, 0, ended -> ended.end().free());
    }

    private static NativeMemory memory() {
        return NativeMemory.reserve(Memtable.capacity(THRESHOLD_BYTES, 1_000, 1_000), THRESHOLD_BYTES,
                new LongAdder());
    }

    private static Lookup lookup(byte[] key) {
        Lookup lookup = new Lookup();
        lookup.begin(key);
        return lookup;
    }

    @Property(tries = 300)
    void showsEveryMomentAsItWas(
            @ForAll @Size(min = 1, max = 200) List<@Size(min = 1, max = 12) byte[]> drawn, @ForAll boolean sameStart) {
        // Where all keys start alike, their first eight bytes, which links repeat, tell none from another.
        List<byte[]> keys = sameStart ? drawn.stream().map(MemtablePropertyTest::behindEightBytes).toList() : drawn;
        Memtable memtable = memtable();
        try {
            TreeMap<byte[], Integer> model = new TreeMap<>(Arrays::compareUnsigned);
            TreeMap<byte[], Integer> half = null;
            long halfSequence = 0;
            for (int i = 0; i < keys.size(); i++) {
                byte[] key = keys.get(i);
                boolean delete = i % 4 == 3;
                boolean isNew = memtable.put(key, Keys.hash(key, key.length),
                        delete ? null : MemorySegment.ofArray(new byte[i % 40]), i + 1);
                assertEquals(!model.containsKey(key), isNew);
                model.put(key, delete ? EntryCursor.TOMBSTONE : i % 40);
                if (i == keys.size() / 2) {
                    half = new TreeMap<>(model);
                    halfSequence = i + 1;
                }
            }
            check(memtable, model, Long.MAX_VALUE);
            check(memtable, half, halfSequence);
            assertEquals(model.size(), memtable.count());
            assertEquals(model.values().stream().filter(length -> length == EntryCursor.TOMBSTONE).count(),
                    memtable.tombstones());
        } finally {
            memtable.release();
        }
    }

    private static byte[] behindEightBytes(byte[] end) {
        byte[] key = new byte[Long.BYTES + end.length];
        System.arraycopy(end, 0, key, Long.BYTES, end.length);
        return key;
    }

    private static void check(Memtable memtable, TreeMap<byte[], Integer> model, long sequence) {
        MemtableCursor cursor = new MemtableCursor(memtable, null, null, sequence);
        for (Map.Entry<byte[], Integer> entry : model.entrySet()) {
            assertTrue(cursor.next());
            assertArrayEquals(entry.getKey(), Arrays.copyOf(cursor.key(), cursor.keyLength()));
            assertEquals(entry.getValue(), cursor.valueLength());
            Lookup lookup = lookup(entry.getKey());
            assertTrue(memtable.find(lookup, sequence));
            assertEquals(entry.getValue(), lookup.valueLength);
        }
        assertFalse(cursor.next());
        assertEquals(1, cursor.passedShare(), "keys that were written again count once");
        cursor.close();
        byte[] middle = model.keySet().stream().skip(model.size() / 2).findFirst().orElseThrow();
        MemtableCursor fromMiddle = new MemtableCursor(memtable, middle, model.lastKey(), sequence);
        for (byte[] key : model.subMap(middle, model.lastKey()).keySet()) {
            assertTrue(fromMiddle.next());
            assertArrayEquals(key, Arrays.copyOf(fromMiddle.key(), fromMiddle.keyLength()));
        }
        assertFalse(fromMiddle.next());
        fromMiddle.close();
    }

    @Test
    void whatIsReadAfterItsEndThrowsInsteadOfShowingOtherBytes() {
        Memtable memtable = memtable();
        byte[] key = {1};
        memtable.put(key, Keys.hash(key, 1), MemorySegment.ofArray(new byte[] {7}), 1);
        Lookup lookup = lookup(key);
        assertTrue(memtable.find(lookup, Long.MAX_VALUE));
        MemorySegment value = lookup.segment.asSlice(lookup.valueOffset, lookup.valueLength);
        assertEquals(7, value.get(ValueLayout.JAVA_BYTE, 0));
        memtable.release();
        assertThrows(IllegalStateException.class, () -> value.get(ValueLayout.JAVA_BYTE, 0));
    }

    @Test
    void memoryIsUsedAgainWithoutWhatWasInIt() {
        NativeMemory memory = memory();
        byte[] key = {1, 2, 3};
        Memtable first = new Memtable(memory, THRESHOLD_BYTES, 0, ended -> { });
        first.put(key, Keys.hash(key, 3), MemorySegment.ofArray(new byte[10]), 1);
        Memtable second = new Memtable(first.end(), THRESHOLD_BYTES, 0, ended -> { });
        assertFalse(second.find(lookup(key), Long.MAX_VALUE));
        assertEquals(0, second.count());
        second.end().free();
    }
}
