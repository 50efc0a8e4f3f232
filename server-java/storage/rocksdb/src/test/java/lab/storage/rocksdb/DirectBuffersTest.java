package lab.storage.rocksdb;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.Bytes;
import lab.storage.Cursor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Entries of every size, on the heap and outside it, pass the direct buffers whole. */
class DirectBuffersTest {

    @TempDir
    private Path folder;
    private RocksDbStorage storage;

    @BeforeEach
    void open() {
        storage = new RocksDbStorage(folder);
    }

    @AfterEach
    void close() {
        storage.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8 << 10, (8 << 10) + 1, 100_000, 1 << 20, (1 << 20) + 1, 3 << 20})
    void valueOfAnySizeIsReadBack(int bytes) {
        byte[] value = new byte[bytes];
        new Random(bytes).nextBytes(value);
        storage.put(utf8("heap"), MemorySegment.ofArray(value));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment outside = arena.allocate(Math.max(1, bytes)).asSlice(0, bytes).copyFrom(MemorySegment.ofArray(value));
            storage.put(arena.allocateFrom("native").asSlice(0, 6), outside);
        }
        for (String key : new String[] {"heap", "native"}) {
            assertArrayEquals(value, storage.get(utf8(key)), key);
        }
        try (Cursor cursor = storage.range(null, null)) {
            for (String key : new String[] {"heap", "native"}) {
                assertTrue(cursor.next());
                assertEquals(key, Bytes.text(cursor.key()));
                assertArrayEquals(value, cursor.value().toArray(ValueLayout.JAVA_BYTE));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 256, 257, 5_000, (1 << 20) + 1})
    void keyOfAnySizeIsFoundAndDeleted(int bytes) {
        byte[] key = new byte[bytes];
        new Random(bytes).nextBytes(key);
        storage.put(MemorySegment.ofArray(key), utf8("value"));
        assertEquals("value", Bytes.text(MemorySegment.ofArray(storage.get(MemorySegment.ofArray(key)))));
        try (Cursor cursor = storage.range(MemorySegment.ofArray(key), null)) {
            assertTrue(cursor.next());
            assertArrayEquals(key, cursor.key().toArray(ValueLayout.JAVA_BYTE));
        }
        storage.delete(MemorySegment.ofArray(key));
        assertEquals(null, storage.get(MemorySegment.ofArray(key)));
    }

    @Test
    void aReaderThatCallsTheStoreKeepsItsValue() {
        storage.put(utf8("a"), utf8("first"));
        storage.put(utf8("b"), utf8("second"));
        AtomicInteger read = new AtomicInteger();
        storage.get(utf8("a"), outer -> {
            storage.get(utf8("b"), inner -> {
                storage.put(utf8("c"), utf8("third"));
                assertEquals("second", Bytes.text(inner));
                read.incrementAndGet();
            });
            assertEquals("first", Bytes.text(outer));
            read.incrementAndGet();
        });
        assertEquals(2, read.get());
    }

    @Test
    void cursorsAndReadsOfOneThreadDoNotShareBuffers() {
        storage.put(utf8("a"), utf8("first"));
        storage.put(utf8("b"), utf8("second"));
        try (Cursor first = storage.range(null, null); Cursor second = storage.range(utf8("b"), null)) {
            assertTrue(first.next());
            assertTrue(second.next());
            MemorySegment value = first.value();
            assertEquals("second", Bytes.text(second.value()));
            assertEquals("second", Bytes.text(MemorySegment.ofArray(storage.get(utf8("b")))));
            assertEquals("first", Bytes.text(value));
        }
    }
}
