package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.conformance.Length;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A process that is killed, one that goes on with what it left, and then a loss of power, at every operation of either:
 * with a synced log every write that the second one acknowledged is there, and every one of the first that had a synced
 * log.
 */
class KillThenPowerLossTest {

    private static final int SEEDS = Length.of(1, 12);
    /** Each operation is tried in the long tests. */
    private static final int STEP = Length.of(2, 1);
    private static final int FIRST_WRITES = 14;
    private static final int SECOND_WRITES = 8;
    private static final int KEYS = 5;
    private static final int NEVER = Integer.MAX_VALUE;

    @TempDir
    private Path folder;

    private int runs;

    private static LsmOptions options(LsmOptions.Wal wal) {
        return LsmOptions.builder().flushThresholdBytes(1_200).compaction(LsmOptions.Compaction.SIZE_TIERED).wal(wal)
                .maxKeyBytes(100).maxValueBytes(1_000).build();
    }

    private static SortedMap<String, String> state(int writes) {
        SortedMap<String, String> state = new TreeMap<>();
        for (int write = 1; write <= writes; write++) {
            state.put("key" + write % KEYS, "value " + write + "x".repeat(100));
        }
        return state;
    }

    private static void write(LsmStorage storage, AtomicInteger acknowledged, int to) {
        for (int write = acknowledged.get() + 1; write <= to; write++) {
            storage.put(utf8("key" + write % KEYS), utf8("value " + write + "x".repeat(100)));
            acknowledged.set(write);
        }
    }

    private static int writesShown(LsmStorage storage, int atLeast, int atMost) {
        SortedMap<String, String> shown = Contents.of(storage);
        int writes = Contents.writes(shown, KillThenPowerLossTest::state, atLeast, atMost);
        assertTrue(writes >= 0, "of " + atMost + " writes, " + atLeast + " of them promised, this is left: " + shown);
        return writes;
    }

    @ParameterizedTest
    @EnumSource(value = LsmOptions.Wal.class, names = {"BUFFERED", "SYNC"})
    void killAtEveryOperationThenPowerLoss(LsmOptions.Wal first) throws IOException {
        for (int seed = 0; seed < SEEDS; seed++) {
            int killAt = 0;
            while (lives(first, killAt, NEVER, seed)) {
                killAt += STEP;
            }
            assertTrue(killAt > FIRST_WRITES, "only " + killAt + " operations");
        }
    }

    @Test
    void killThenPowerLossAtEveryOperation() throws IOException {
        for (int seed = 0; seed < SEEDS; seed++) {
            for (int killAt = 1; killAt < 4; killAt++) {
                int loseAt = 0;
                while (lives(LsmOptions.Wal.SYNC, 8 * killAt, loseAt, seed)) {
                    loseAt += STEP;
                }
                assertTrue(loseAt > SECOND_WRITES, "only " + loseAt + " operations");
            }
        }
    }

    /** Runs the three processes; says whether there was an operation at which the last one ended that was to end so. */
    private boolean lives(LsmOptions.Wal first, int killAt, int loseAt, int seed) throws IOException {
        Path base = folder.resolve("run" + runs++);
        Path lived = Files.createDirectories(base.resolve("lived"));
        PowerLossDisk disk = new PowerLossDisk(lived, false);
        PowerLossDisk[] killed = new PowerLossDisk[1];
        AtomicInteger acknowledged = new AtomicInteger();
        int[] acknowledgedThen = new int[1];
        disk.before(number -> {
            if (number == killAt) {
                acknowledgedThen[0] = acknowledged.get();
                killed[0] = disk.kill(base.resolve("killed"));
            }
        });
        try (LsmStorage storage = new LsmStorage(lived, options(first), disk)) {
            write(storage, acknowledged, FIRST_WRITES);
        }
        return killed[0] != null && secondLife(killed[0], base, acknowledgedThen[0], loseAt, seed);
    }

    private static boolean secondLife(PowerLossDisk disk, Path base, int acknowledgedBefore, int loseAt, int seed)
            throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        AtomicInteger acknowledged = new AtomicInteger(acknowledgedBefore);
        int[] promised = {-1};
        disk.before(number -> {
            if (number == loseAt) {
                promised[0] = acknowledged.get();
                disk.losePower(base.resolve("left"), random);
            }
        });
        try (LsmStorage storage = new LsmStorage(base.resolve("killed"), options(LsmOptions.Wal.SYNC), disk)) {
            // Writes that were under way may be there too, but none may be lost to a kill.
            acknowledged.set(writesShown(storage, acknowledgedBefore, FIRST_WRITES));
            write(storage, acknowledged, acknowledged.get() + SECOND_WRITES);
            if (loseAt == NEVER) {
                promised[0] = acknowledged.get();
                disk.losePower(base.resolve("left"), random);
            }
        }
        if (promised[0] < 0) {
            return false;
        }
        try (LsmStorage storage = new LsmStorage(base.resolve("left"), options(LsmOptions.Wal.SYNC))) {
            writesShown(storage, promised[0], acknowledged.get());
        }
        return true;
    }
}
