package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import lab.storage.lsm.log.LogFormat;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the store says of itself is what was done to it. */
class StatisticsTest {

    private static final int KEYS = 20_000;

    @TempDir
    private Path folder;

    private static MemorySegment key(int i) {
        return utf8(String.format("key%06d", i));
    }

    private static void fill(LsmStorage storage, int from, int to) {
        for (int i = from; i < to; i++) {
            storage.put(key(i), MemorySegment.ofArray(new byte[100]));
        }
        storage.flush();
    }

    private static double number(LsmStorage storage, String name) {
        return ((Number) storage.statistics().get(name)).doubleValue();
    }

    @Test
    void countsWritesReadsAndBytes() {
        try (LsmStorage storage = new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(8 << 20)
                .compaction(LsmOptions.Compaction.OFF).build())) {
            fill(storage, 0, KEYS);
            assertEquals(KEYS, number(storage, "writes"));
            assertEquals(KEYS * 109L, number(storage, "written_bytes"));
            assertEquals(KEYS * (109L + LogFormat.RECORD_HEADER_BYTES), number(storage, "log_bytes"));
            assertEquals(1, number(storage, "flushes"));
            double amplification = number(storage, "write_amplification");
            assertTrue(amplification > 1.9 && amplification < 2.3, "a log and a table: " + amplification);
            for (int i = 0; i < KEYS; i++) {
                assertNotNull(storage.get(key(i)));
            }
            assertEquals(1, number(storage, "read_amplification"));
            assertEquals(0, number(storage, "bloom_false_positive"));
            for (int i = 0; i < KEYS; i++) {
                assertNull(storage.get(utf8(String.format("kez%06d", i))));
            }
            double wrong = number(storage, "bloom_false_positive_rate");
            assertTrue(wrong > 0.001 && wrong < 0.03, "of absent keys " + wrong + " passed");
            storage.put(key(1), utf8("1"));
            assertNotNull(storage.get(key(1)));
            assertEquals(1, number(storage, "reads_from_memory"));
            assertEquals(2.0 * KEYS + 1, number(storage, "reads"));
        }
    }

    @Test
    void cacheHitsAreCountedAndFlushesLeaveNothingOldInIt() {
        LsmOptions options = LsmOptions.builder().flushThresholdBytes(8 << 20).compaction(LsmOptions.Compaction.OFF)
                .cacheBytes(4 << 20).build();
        try (LsmStorage storage = new LsmStorage(folder, options)) {
            fill(storage, 0, 1_000);
            for (int round = 0; round < 4; round++) {
                assertEquals(100, storage.get(key(7)).length);
            }
            assertEquals(0.75, number(storage, "cache_hit_rate"));
            storage.put(key(7), utf8("new"));
            storage.flush();
            assertEquals(3, storage.get(key(7)).length);
            storage.delete(key(7));
            storage.flush();
            assertNull(storage.get(key(7)));
        }
    }

    @Test
    void keysWrittenAgainAreCountedOnce() {
        try (LsmStorage storage = new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(8 << 20)
                .compaction(LsmOptions.Compaction.OFF).build())) {
            for (int round = 0; round < 4; round++) {
                fill(storage, 0, KEYS);
            }
            fill(storage, KEYS / 2, KEYS + KEYS / 2);
            assertNear(KEYS * 1.5, storage.stats().entriesEstimate());
            double space = number(storage, "space_amplification_estimate");
            assertTrue(space > 3 && space < 3.7, "five tables for one and a half: " + space);
            for (int i = 0; i < KEYS; i++) {
                storage.delete(key(i));
            }
            assertNear(KEYS / 2.0, storage.stats().entriesEstimate());
            storage.flush();
            assertNear(KEYS / 2.0, storage.stats().entriesEstimate());
            storage.compact();
            assertEquals(KEYS / 2, storage.stats().entriesEstimate());
        }
    }

    private static void assertNear(double expected, double got) {
        assertTrue(Math.abs(got - expected) < KEYS * 0.08, "expected about " + expected + ", got " + got);
    }

    @Test
    void idleStoreGivesBackTheRoomOfDeadEntries() {
        try (LsmStorage storage = new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(8 << 20)
                .compaction(LsmOptions.Compaction.SIZE_TIERED).build())) {
            fill(storage, 0, KEYS);
            long once = storage.stats().diskBytes();
            fill(storage, 0, KEYS);
            assertTimeoutPreemptively(Duration.ofSeconds(120), () -> {
                while (storage.stats().diskBytes() > once * 1.2) {
                    Thread.sleep(20);
                }
            });
            assertEquals(KEYS, storage.stats().entriesEstimate());
        }
    }

    @Test
    void ratiosOfNothingAreNull() {
        try (LsmStorage storage = new LsmStorage(folder, LsmOptions.defaults())) {
            Map<String, Object> statistics = storage.statistics();
            assertNull(statistics.get("write_amplification"));
            assertNull(statistics.get("cache_hit_rate"));
            assertEquals(0L, statistics.get("writes"));
        }
    }
}
