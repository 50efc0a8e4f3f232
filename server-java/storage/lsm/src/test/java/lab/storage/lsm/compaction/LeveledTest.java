package lab.storage.lsm.compaction;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Levels keep their sizes and their order, and a store may change its way of merging. */
class LeveledTest {

    private static final int KEYS = 4_000;
    private static final Duration TIMEOUT = Duration.ofSeconds(120);

    @TempDir
    private Path folder;

    private LsmStorage open(LsmOptions.Compaction compaction) {
        return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(32 * 1024).compaction(compaction)
                .maxTableBytes(32 * 1024).maxKeyBytes(100).maxValueBytes(1_000).build());
    }

    private static int runs(LsmStorage storage) {
        return ((Number) storage.statistics().get("runs")).intValue();
    }

    /** Random writes, of which the last one of each key counts. */
    private static int[] write(LsmStorage storage) {
        int[] last = new int[KEYS];
        Random random = new Random(1);
        for (int i = 1; i <= 4 * KEYS; i++) {
            int key = random.nextInt(KEYS);
            if (i % 9 == 0) {
                storage.delete(utf8("key" + key));
                last[key] = 0;
            } else {
                storage.put(utf8("key" + key), utf8(i + " ".repeat(100)));
                last[key] = i;
            }
        }
        storage.flush();
        return last;
    }

    private static void check(LsmStorage storage, int[] last) {
        for (int key = 0; key < KEYS; key++) {
            byte[] value = storage.get(utf8("key" + key));
            if (last[key] == 0) {
                assertNull(value);
            } else {
                assertEquals(last[key], Integer.parseInt(new String(value).strip()));
            }
        }
    }

    @Test
    void freshRunsAreMergedIntoLevels() {
        int[] last;
        try (LsmStorage storage = open(LsmOptions.Compaction.LEVELED)) {
            last = write(storage);
            assertTimeoutPreemptively(TIMEOUT, () -> {
                while (runs(storage) > Leveled.FRESH_RUNS + 2) {
                    Thread.sleep(10);
                }
            });
            check(storage, last);
            assertTrue(storage.stats().tables() > runs(storage), "a level has several tables");
        }
        try (LsmStorage storage = open(LsmOptions.Compaction.SIZE_TIERED)) {
            check(storage, last);
            last = write(storage);
            check(storage, last);
            storage.compact();
            assertEquals(1, runs(storage));
        }
        try (LsmStorage storage = open(LsmOptions.Compaction.LEVELED)) {
            check(storage, last);
        }
    }
}
