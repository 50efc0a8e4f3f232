package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.SnapshotExpiredException;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables and memtables live as long as somebody reads them, and not longer. */
class CursorTest {

    @TempDir
    private Path folder;

    private LsmStorage open(long flushThresholdBytes) {
        return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(flushThresholdBytes)
                .compaction(LsmOptions.Compaction.OFF).build());
    }

    private long tableFiles() throws IOException {
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".table")).count();
        }
    }

    /** Files are removed in the background. */
    private void awaitTableFiles(int count) {
        Assertions.assertTimeoutPreemptively(Duration.ofSeconds(120), () -> {
            while (tableFiles() != count) {
                Thread.sleep(5);
            }
        });
    }

    private static void fill(LsmStorage storage, String value) {
        for (int i = 0; i < 1_000; i++) {
            storage.put(utf8(String.format("key%04d", i)), utf8(value));
        }
    }

    /** A value over 32 KiB is shown where it lies in the memtable; the memory of that is used again. */
    @Test
    void largeValueOfAMemtableNeverShowsOtherBytes() {
        int rounds = 16;
        byte[] value = new byte[400_000];
        int held = 0;
        int takenBack = 0;
        List<Cursor> cursors = new ArrayList<>();
        List<MemorySegment> shown = new ArrayList<>();
        try (LsmStorage storage = open(1 << 20)) {
            for (int round = 0; round < rounds; round++) {
                Arrays.fill(value, (byte) round);
                storage.put(utf8("key"), MemorySegment.ofArray(value));
                Cursor cursor = storage.range(null, null);
                cursors.add(cursor);
                assertTrue(cursor.next());
                shown.add(cursor.value());
                Arrays.fill(value, (byte) -1);
                storage.put(utf8("key"), MemorySegment.ofArray(value));
                storage.flush();
            }
            for (int round = 0; round < rounds; round++) {
                try {
                    for (byte shownByte : shown.get(round).toArray(ValueLayout.JAVA_BYTE)) {
                        assertEquals(round, shownByte);
                    }
                    held++;
                } catch (IllegalStateException e) {
                    takenBack++;
                }
                cursors.get(round).close();
            }
        }
        assertTrue(held > 0 && takenBack > 0, held + " held, " + takenBack + " taken back");
    }

    @Test
    void cursorReadsTablesThatWereMergedAwayUnderIt() throws Exception {
        try (LsmStorage storage = open(1 << 20)) {
            fill(storage, "first");
            storage.flush();
            Cursor cursor = storage.range(null, null);
            assertTrue(cursor.next());
            fill(storage, "second");
            storage.flush();
            storage.compact();
            int seen = 1;
            assertEquals("first", Bytes.text(cursor.value()));
            while (cursor.next()) {
                assertEquals("first", Bytes.text(cursor.value()));
                seen++;
            }
            assertEquals(1_000, seen);
            awaitTableFiles(2);
            Thread.sleep(50);
            assertEquals(2, tableFiles(), "the table that the cursor reads is still there");
            cursor.close();
            awaitTableFiles(1);
        }
    }

    @Test
    void slowCursorLosesItsMemtablesBeforeWritersRunOutOfMemory() {
        long threshold = 4 << 20;
        try (LsmStorage storage = open(threshold)) {
            storage.put(utf8("a"), utf8("1"));
            storage.put(utf8("b"), utf8("1"));
            try (Cursor slow = storage.range(null, null)) {
                assertTrue(slow.next());
                for (int i = 0; i < 60; i++) {
                    storage.put(utf8("key" + i), MemorySegment.ofArray(new byte[256 * 1024]));
                    if (i % 20 == 19) {
                        // Else another cursor, open while two memtables are written out, has this one cut off too.
                        storage.flush();
                        storage.range(null, null).close();
                    }
                }
                assertEquals("1", Bytes.text(slow.value()), "what it is on stays readable");
                // Its own memtable is below the threshold, so it may keep it.
                assertTrue(slow.next());
            }
        }
    }

    @Test
    void manySlowCursorsAreCutOffOldestFirst() {
        long threshold = 4 << 20;
        try (LsmStorage storage = open(threshold)) {
            Cursor[] cursors = new Cursor[10];
            for (int i = 0; i < cursors.length; i++) {
                storage.put(utf8("a" + i), MemorySegment.ofArray(new byte[1 << 20]));
                cursors[i] = storage.range(null, null);
                storage.flush();
            }
            assertThrows(SnapshotExpiredException.class, () -> drain(cursors[0]));
            drain(cursors[cursors.length - 1]);
            for (Cursor cursor : cursors) {
                cursor.close();
            }
        }
    }

    private static void drain(Cursor cursor) {
        while (cursor.next()) {
            assertFalse(cursor.key().byteSize() == 0);
        }
    }
}
