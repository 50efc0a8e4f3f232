package lab.storage.memory;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryStorageTest {

    @Test
    void refusesWritesBeforeTheHeapIsFull() {
        try (Storage storage = new MemoryStorage(10_000)) {
            MemorySegment value = MemorySegment.ofArray(new byte[4_000]);
            storage.put(utf8("a"), value);
            storage.put(utf8("b"), value);
            StorageException full = assertThrows(StorageException.class, () -> storage.put(utf8("c"), value));
            assertTrue(full.getMessage().contains("10000"), full.getMessage());
            assertArrayEquals(new byte[4_000], storage.get(utf8("a")));
        }
    }

    @Test
    void deletedKeysTakeNoMemory() {
        try (Storage storage = new MemoryStorage()) {
            for (int i = 0; i < 1_000; i++) {
                storage.put(utf8("key" + i), utf8("value"));
            }
            try (Cursor cursor = storage.range(null, null)) {
                for (int i = 0; i < 500; i++) {
                    storage.delete(utf8("key" + i));
                }
                assertTrue(cursor.next());
            }
            for (int i = 500; i < 1_000; i++) {
                storage.delete(utf8("key" + i));
            }
            assertEquals(0, storage.stats().memtableBytes());
            assertEquals(0, storage.stats().entriesEstimate());
        }
    }

    @Test
    void noopHasTheSameValueForEveryKeyAndKeepsNothing() {
        try (Storage storage = new NoopStorage()) {
            storage.put(utf8("a"), utf8("1"));
            storage.delete(utf8("a"));
            assertEquals(NoopStorage.DEFAULT_VALUE_BYTES, storage.get(utf8("a")).length);
            try (Cursor cursor = storage.range(null, null)) {
                assertFalse(cursor.next());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1_200})
    void noopReturnsAsManyBytesAsItIsGiven(int bytes) {
        try (Storage storage = new NoopStorage(bytes, 0)) {
            assertEquals(bytes, storage.get(utf8("a")).length);
            assertEquals((long) bytes, storage.settings().get("value_bytes"));
        }
    }
}
