package lab.storage.conformance;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What every engine that stores something must do. Each engine's tests extend it. */
public abstract class StorageConformance {

    private static final int LARGE_VALUE_BYTES = 16 * 1024 * 1024;
    private static final int LARGE_KEY_BYTES = 60_000;

    /** Folder of the store under test. */
    @TempDir
    protected Path folder;

    /** The store under test. */
    protected Storage storage;

    /** Opens the engine in a folder, which may hold a store of before. */
    protected abstract Storage open(Path folder);

    @BeforeEach
    final void openStorage() {
        storage = open(folder);
    }

    @AfterEach
    final void closeStorage() {
        storage.close();
    }

    /** Stores texts. */
    protected final void put(String key, String value) {
        storage.put(utf8(key), utf8(value));
    }

    /** Value of a key as a text, or null. */
    protected final String get(String key) {
        byte[] value = storage.get(utf8(key));
        return value == null ? null : Bytes.text(MemorySegment.ofArray(value));
    }

    /** Entries of a range as {@code key=value}. */
    protected final List<String> range(String from, String to) {
        try (Cursor cursor = storage.range(from == null ? null : utf8(from), to == null ? null : utf8(to))) {
            return rest(cursor);
        }
    }

    /** What a cursor has not shown yet, as {@code key=value}. */
    protected static List<String> rest(Cursor cursor) {
        List<String> entries = new ArrayList<>();
        while (cursor.next()) {
            entries.add(Bytes.text(cursor.key()) + "=" + Bytes.text(cursor.value()));
        }
        return entries;
    }

    @Test
    void keyThatWasNeverWrittenIsAbsent() {
        assertNull(get("a"));
        assertFalse(storage.get(utf8("a"), value -> {
            throw new AssertionError("called for an absent key");
        }));
    }

    @Test
    void valueIsReadBack() {
        put("a", "1");
        put("b", "2");
        assertEquals("1", get("a"));
        assertEquals("2", get("b"));
        assertTrue(storage.get(utf8("b"), value -> assertEquals("2", Bytes.text(value))));
    }

    @Test
    void secondValueReplacesTheFirst() {
        put("a", "1");
        put("a", "a longer value");
        put("a", "3");
        assertEquals("3", get("a"));
        assertEquals(List.of("a=3"), range(null, null));
    }

    @Test
    void valueMayBeEmpty() {
        put("a", "");
        assertEquals("", get("a"));
        assertEquals(List.of("a="), range(null, null));
    }

    @Test
    void deletedKeyIsAbsentAndMayComeBack() {
        put("a", "1");
        storage.delete(utf8("a"));
        assertNull(get("a"));
        assertEquals(List.of(), range(null, null));
        put("a", "2");
        assertEquals("2", get("a"));
    }

    @Test
    void deletingAnAbsentKeyIsNoError() {
        storage.delete(utf8("a"));
        assertNull(get("a"));
        assertEquals(List.of(), range(null, null));
    }

    @Test
    void deleteHidesWhatWasFlushedBefore() {
        put("a", "1");
        put("b", "2");
        storage.flush();
        storage.delete(utf8("a"));
        assertNull(get("a"));
        storage.flush();
        assertNull(get("a"));
        assertEquals(List.of("b=2"), range(null, null));
    }

    @Test
    void keysAreOrderedAsUnsignedBytes() {
        byte[][] keys = {{0}, {0, 0}, {0, (byte) 0xff}, {1}, {0x7f}, {(byte) 0x80}, {(byte) 0x80, 0}, {(byte) 0xff}};
        for (int i = keys.length - 1; i >= 0; i--) {
            storage.put(MemorySegment.ofArray(keys[i]), utf8(Integer.toString(i)));
        }
        List<String> values = new ArrayList<>();
        try (Cursor cursor = storage.range(null, null)) {
            for (byte[] key : keys) {
                assertTrue(cursor.next());
                assertEquals(-1, cursor.key().mismatch(MemorySegment.ofArray(key)));
                values.add(Bytes.text(cursor.value()));
            }
            assertFalse(cursor.next());
        }
        assertEquals(List.of("0", "1", "2", "3", "4", "5", "6", "7"), values);
    }

    @Test
    void rangeIncludesItsStartAndExcludesItsEnd() {
        for (String key : List.of("a", "b", "bb", "c", "d")) {
            put(key, key);
        }
        assertEquals(List.of("b=b", "bb=bb"), range("b", "c"));
        assertEquals(List.of("c=c", "d=d"), range("c", null));
        assertEquals(List.of("a=a"), range(null, "b"));
        assertEquals(List.of("bb=bb"), range("ba", "bz"));
    }

    @Test
    void rangeThatEndsBeforeItStartsIsEmpty() {
        put("a", "1");
        put("b", "2");
        assertEquals(List.of(), range("b", "a"));
        assertEquals(List.of(), range("a", "a"));
        assertEquals(List.of(), range("x", null));
        assertEquals(List.of(), range(null, "A"));
    }

    @Test
    void rangeMergesWhatLiesInMemoryAndInTables() {
        put("a", "old");
        put("c", "old");
        storage.flush();
        put("b", "new");
        put("c", "new");
        assertEquals(List.of("a=old", "b=new", "c=new"), range(null, null));
    }

    @Test
    void cursorSeesTheStoreAsItWasWhenItWasOpened() {
        put("a", "1");
        put("b", "1");
        storage.flush();
        put("c", "1");
        try (Cursor cursor = storage.range(null, null)) {
            put("b", "2");
            put("d", "2");
            storage.delete(utf8("c"));
            storage.flush();
            put("a", "3");
            storage.delete(utf8("b"));
            assertEquals(List.of("a=1", "b=1", "c=1"), rest(cursor));
        }
        assertEquals(List.of("a=3", "d=2"), range(null, null));
    }

    @Test
    void cursorsOfDifferentMomentsDoNotDisturbEachOther() {
        put("a", "1");
        try (Cursor first = storage.range(null, null)) {
            put("a", "2");
            try (Cursor second = storage.range(null, null)) {
                storage.delete(utf8("a"));
                try (Cursor third = storage.range(null, null)) {
                    put("a", "3");
                    assertEquals(List.of("a=1"), rest(first));
                    assertEquals(List.of("a=2"), rest(second));
                    assertEquals(List.of(), rest(third));
                }
            }
        }
        assertEquals("3", get("a"));
    }

    @Test
    void cursorStaysAtItsEnd() {
        put("a", "1");
        put("b", "2");
        try (Cursor bounded = storage.range(null, utf8("b")); Cursor unbounded = storage.range(utf8("b"), null)) {
            assertTrue(bounded.next());
            assertTrue(unbounded.next());
            for (int i = 0; i < 3; i++) {
                assertFalse(bounded.next());
                assertFalse(unbounded.next());
            }
        }
    }

    @Test
    void largeKeysAndValuesAreKept() {
        byte[] value = new byte[LARGE_VALUE_BYTES];
        new Random(1).nextBytes(value);
        byte[] key = new byte[LARGE_KEY_BYTES];
        new Random(2).nextBytes(key);
        storage.put(MemorySegment.ofArray(key), MemorySegment.ofArray(value));
        assertArrayEquals(value, storage.get(MemorySegment.ofArray(key)));
        storage.flush();
        assertArrayEquals(value, storage.get(MemorySegment.ofArray(key)));
    }

    @Test
    void slicesAreTakenAsTheBytesThatTheyShow() {
        MemorySegment whole = utf8("xkeyvaluex");
        storage.put(whole.asSlice(1, 3), whole.asSlice(4, 5));
        assertEquals("value", get("key"));
        assertEquals("value", Bytes.text(MemorySegment.ofArray(storage.get(whole.asSlice(1, 3)))));
    }

    @Test
    void closingTwiceDoesNoHarm() {
        storage.close();
        storage.close();
    }

    @Test
    void tellsItsNameSettingsAndSizes() {
        for (int i = 0; i < 100; i++) {
            put("key" + i, "value");
        }
        assertFalse(storage.engine().isEmpty());
        assertFalse(storage.settings().isEmpty());
        assertTrue(storage.stats().entriesEstimate() > 0);
        assertTrue(storage.stats().memtableBytes() + storage.stats().diskBytes() > 0);
    }
}
