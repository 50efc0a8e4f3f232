package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import lab.storage.StorageBusyException;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Background work that takes long holds up neither what was flushed lately nor, without end, a writer. */
class MergePriorityTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(120);
    private static final int KEYS = 4_000;
    private static final int VALUE_BYTES = 100;

    @TempDir
    private Path folder;

    private static LsmOptions.Builder options(LsmOptions.Compaction compaction, long threshold) {
        return LsmOptions.builder().flushThresholdBytes(threshold).maxTableBytes(32 * 1024).compaction(compaction);
    }

    private static MemorySegment key(int i) {
        return utf8(String.format("key%05d", i));
    }

    private static byte[] value(int i) {
        byte[] value = new byte[VALUE_BYTES];
        value[0] = (byte) i;
        return value;
    }

    /** Writes all keys so many times, each time into a run. */
    private void fill(int runs) {
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.OFF, 8 << 20).build())) {
            for (int run = 0; run < runs; run++) {
                for (int i = 0; i < KEYS; i++) {
                    storage.put(key(i), MemorySegment.ofArray(value(i + run)));
                }
                storage.flush();
            }
        }
    }

    private static void readAll(LsmStorage storage, int run) {
        for (int i = 0; i < KEYS; i++) {
            assertArrayEquals(value(i + run), storage.get(key(i)));
        }
    }

    private static double number(LsmStorage storage, String name) {
        return ((Number) storage.statistics().get(name)).doubleValue();
    }

    private static void await(BooleanSupplier condition) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            while (!condition.getAsBoolean()) {
                Thread.sleep(5);
            }
        });
    }

    @Test
    void freshRunsAreMergedWhileALargeMergeIsUnderWay() throws InterruptedException {
        fill(4);
        GatedDisk disk = new GatedDisk("lsm-compact");
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.SIZE_TIERED, 64 * 1024).build(),
                disk)) {
            try {
                disk.reached.await();
                for (int i = 0; i < 4; i++) {
                    storage.put(key(KEYS + i), MemorySegment.ofArray(value(i)));
                    storage.flush();
                }
                await(() -> number(storage, "runs") == 5);
            } finally {
                disk.open();
            }
            await(() -> number(storage, "runs") <= 2);
            readAll(storage, 3);
        }
    }

    @Test
    void freshRunsAreMergedWhileAllIsMergedOnDemand() throws InterruptedException {
        fill(2);
        GatedDisk disk = new GatedDisk("compact-all");
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.SIZE_TIERED, 64 * 1024).build(),
                disk)) {
            Thread all = Thread.ofPlatform().name("compact-all").start(storage::compact);
            try {
                disk.reached.await();
                for (int i = 0; i < 4; i++) {
                    storage.put(key(KEYS + i), MemorySegment.ofArray(value(i)));
                    storage.flush();
                }
                await(() -> number(storage, "runs") == 3);
            } finally {
                disk.open();
            }
            all.join();
            await(() -> number(storage, "runs") <= 2);
            readAll(storage, 1);
        }
    }

    @Test
    void repairTakesOneRangeAfterTheOther() {
        fill(2);
        double twice;
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.SIZE_TIERED, 8 << 20).build())) {
            twice = storage.stats().diskBytes();
            await(() -> storage.stats().diskBytes() < twice * 0.6);
            double merges = number(storage, "compactions");
            assertTrue(number(storage, "compaction_read_bytes") / merges < twice / 3,
                    "a merge reads a part: " + merges + " merges");
            readAll(storage, 1);
            assertEquals(KEYS, storage.stats().entriesEstimate(), KEYS * 0.12);
        }
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.OFF, 8 << 20).build())) {
            readAll(storage, 1);
        }
    }

    @Test
    void repairGivesWayToAFlush() throws InterruptedException {
        fill(2);
        GatedDisk disk = new GatedDisk("lsm-compact");
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.SIZE_TIERED, 8 << 20).build(),
                disk)) {
            try {
                disk.reached.await();
                storage.put(key(KEYS), MemorySegment.ofArray(value(0)));
                storage.flush();
            } finally {
                disk.open();
            }
            assertTrue(disk.removed.await(TIMEOUT.toSeconds(), TimeUnit.SECONDS), "what it wrote is of no use");
            readAll(storage, 1);
        }
    }

    @Test
    void writerThatFindsNoRoomInTimeLearnsWhy() throws InterruptedException {
        GatedDisk disk = new GatedDisk("lsm-flush");
        LsmOptions options = options(LsmOptions.Compaction.OFF, 64 * 1024).maxWriteWaitMs(20).build();
        // All memtables but a little; before that the next one may come too late on a busy machine.
        double full = (options.memory().memtables() - 0.2) * options.memory().memtableBytes();
        try (LsmStorage storage = new LsmStorage(folder, options, disk)) {
            int taken = 0;
            int refusals = 0;
            try {
                StorageBusyException refused = null;
                while (refused == null || storage.stats().memtableBytes() < full) {
                    try {
                        storage.put(key(taken), MemorySegment.ofArray(value(taken)));
                        taken++;
                    } catch (StorageBusyException e) {
                        refused = e;
                        refusals++;
                    }
                    assertFalse(taken > 100_000, "the disk writes nothing");
                }
                assertTrue(refused.getMessage().contains("was not done"), refused.getMessage());
                assertTrue(refused.getMessage().contains("still being written to disk"), refused.getMessage());
                assertTrue(refused.getMessage().contains("--max-write-wait-ms"), refused.getMessage());
                assertEquals(refusals, number(storage, "refused_busy"));
                int last = taken;
                assertThrows(StorageBusyException.class, () -> storage.put(key(last), MemorySegment.ofArray(value(0))));
            } finally {
                disk.open();
            }
            storage.flush();
            storage.put(key(taken), MemorySegment.ofArray(value(taken)));
            for (int i = 0; i <= taken; i++) {
                assertArrayEquals(value(i), storage.get(key(i)));
            }
        }
    }
}
