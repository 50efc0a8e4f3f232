package lab.storage.lsm.compaction;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import lab.storage.Cursor;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What merging tables keeps and what it drops. */
class CompactionTest {

    private static final int KEYS = 1_000;
    private static final Duration TIMEOUT = Duration.ofSeconds(120);

    @TempDir
    private Path folder;

    private LsmStorage open(LsmOptions.Compaction compaction) {
        return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(1 << 20).compaction(compaction).build());
    }

    private static MemorySegment key(int i) {
        return utf8(String.format("key%04d", i));
    }

    private static void fill(LsmStorage storage) {
        for (int i = 0; i < KEYS; i++) {
            storage.put(key(i), utf8("value of a key"));
        }
        storage.flush();
    }

    private long tableFiles() throws IOException {
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".table")).count();
        }
    }

    @Test
    void mergingAllDropsDeletesAndOldVersions() {
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF)) {
            fill(storage);
            for (int i = 0; i < KEYS; i++) {
                storage.delete(key(i));
            }
            storage.put(utf8("last"), utf8("one"));
            storage.flush();
            storage.compact();
            assertEquals(1, storage.stats().entriesEstimate());
            storage.delete(utf8("last"));
            storage.flush();
            storage.compact();
            assertEquals(0, storage.stats().tables(), "a store without entries needs no table");
            awaitTableFiles(0);
        }
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF); Cursor cursor = storage.range(null, null)) {
            assertFalse(cursor.next());
        }
    }

    @Test
    void mergingTheNewerTablesKeepsTheirDeletes() {
        try (LsmStorage storage = open(LsmOptions.Compaction.SIZE_TIERED)) {
            fill(storage);
            for (int i = 0; i < SizeTiered.MIN_RUNS; i++) {
                storage.delete(key(i));
                storage.put(utf8("new" + i), utf8("value"));
                storage.flush();
            }
            awaitTables(storage, 2);
            for (int i = 0; i < SizeTiered.MIN_RUNS; i++) {
                assertNull(storage.get(key(i)), "the value in the oldest table is back");
                assertNotNull(storage.get(utf8("new" + i)));
            }
            assertNotNull(storage.get(key(SizeTiered.MIN_RUNS)));
            storage.compact();
            assertEquals(KEYS, storage.stats().entriesEstimate());
            assertEquals(1, storage.stats().tables());
        }
    }

    @Test
    void manyFlushesLeaveFewTables() {
        try (LsmStorage storage = open(LsmOptions.Compaction.SIZE_TIERED)) {
            for (int i = 0; i < 60; i++) {
                storage.put(key(i), utf8("value"));
                storage.flush();
            }
            assertTimeoutPreemptively(TIMEOUT, () -> {
                while (storage.stats().tables() >= SizeTiered.MAX_RUNS) {
                    Thread.sleep(5);
                }
            });
            for (int i = 0; i < 60; i++) {
                assertNotNull(storage.get(key(i)));
            }
        }
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF)) {
            awaitTableFiles(storage.stats().tables());
            assertNotNull(storage.get(key(0)));
        }
    }

    /** Files are removed in the background. */
    private void awaitTableFiles(int count) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            while (tableFiles() != count) {
                Thread.sleep(5);
            }
        });
    }

    private static void awaitTables(LsmStorage storage, int tables) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            while (storage.stats().tables() != tables) {
                Thread.sleep(5);
            }
        });
    }
}
