package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;
import lab.storage.StorageException;
import lab.storage.conformance.Length;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Eight writers on a synced log, flushes and a close while they write, a force that fails at any step, and a loss of power at
 * any other: every write that was acknowledged by then is there.
 */
class ConcurrentPowerLossTest {

    private static final int WRITERS = 8;
    private static final int KEYS = 4;
    private static final int SEEDS = Length.of(1, 10);
    /** Each operation is tried in the long tests. */
    private static final int STEP = Length.of(19, 1);
    private static final int WRITES_BEFORE_CLOSE = 12;
    private static final int NEVER = Integer.MAX_VALUE;
    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(2_000).maxTableBytes(2_000)
            .compaction(LsmOptions.Compaction.SIZE_TIERED).wal(LsmOptions.Wal.SYNC).maxKeyBytes(100).maxValueBytes(1_000)
            .maxWriteWaitMs(2_000).build();

    @TempDir
    private Path folder;

    private int stores;
    private long acknowledgedWrites;

    @Test
    void closeAgainstWritersLosesNoAcknowledgedWrite() throws Exception {
        for (int round = 0; round < 4 * SEEDS; round++) {
            run(NEVER, NEVER, round);
        }
    }

    @Test
    void powerLossAtAnyOperationLosesNoAcknowledgedWrite() throws Exception {
        for (int seed = 0; seed < SEEDS; seed++) {
            int loseAt = 1;
            while (run(NEVER, loseAt, seed)) {
                loseAt += STEP;
            }
        }
    }

    @Test
    void failingForceAtAnyStepLosesNoAcknowledgedWrite() throws Exception {
        for (int seed = 0; seed < SEEDS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int failAt = 1;
            while (run(failAt, random.nextBoolean() ? NEVER : failAt + 1 + random.nextInt(30), seed)) {
                failAt += STEP;
            }
        }
        System.out.println(stores + " stores, " + acknowledgedWrites + " acknowledged writes, none lost");
    }

    /**
     * Runs one store until it is closed, and looks at what a loss of power leaves of it.
     *
     * @param failAt number of the force that fails
     * @param loseAt number of the operation at which the power is lost; {@link #NEVER} for after the close
     * @return whether it came to the failure, or to the loss
     */
    private boolean run(int failAt, int loseAt, int seed) throws Exception {
        Path live = Files.createDirectories(folder.resolve("store" + stores));
        Path left = folder.resolve("left" + stores++);
        PowerLossDisk disk = new PowerLossDisk(live, false);
        AtomicIntegerArray acknowledged = new AtomicIntegerArray(WRITERS);
        int[][] promised = new int[1][];
        SplittableRandom random = new SplittableRandom(seed);
        boolean[] came = new boolean[1];
        disk.before(number -> {
            if (number == loseAt) {
                came[0] = true;
                promised[0] = copy(acknowledged);
                disk.losePower(left, random);
            }
        });
        disk.failForce(failAt);
        List<Thread> writers = new ArrayList<>();
        try (LsmStorage storage = open(live, disk)) {
            if (storage == null) {
                return true;
            }
            for (int writer = 0; writer < WRITERS; writer++) {
                int number = writer;
                writers.add(Thread.ofPlatform().start(() -> write(storage, number, acknowledged)));
            }
            for (int flush = 0; flush < 2; flush++) {
                awaitWrites(acknowledged, (flush + 1) * WRITES_BEFORE_CLOSE / 2, writers);
                try {
                    storage.flush();
                } catch (StorageException e) {
                    // A force has failed; writers get an error too.
                }
            }
            awaitWrites(acknowledged, WRITES_BEFORE_CLOSE, writers);
        } catch (StorageException e) {
            // Not closed cleanly.
        }
        for (Thread writer : writers) {
            writer.join();
        }
        if (promised[0] == null) {
            promised[0] = copy(acknowledged);
            disk.losePower(left, random);
        }
        check(left, promised[0], "failing force " + failAt + ", power lost at " + loseAt + ", seed " + seed);
        return failAt == NEVER ? came[0] : disk.forceHasFailed();
    }

    private static LsmStorage open(Path store, PowerLossDisk disk) {
        try {
            return new LsmStorage(store, OPTIONS, disk);
        } catch (StorageException e) {
            return null;
        }
    }

    private static int[] copy(AtomicIntegerArray numbers) {
        int[] copy = new int[WRITERS];
        for (int i = 0; i < WRITERS; i++) {
            copy[i] = numbers.get(i);
        }
        return copy;
    }

    private static void awaitWrites(AtomicIntegerArray acknowledged, int writes, List<Thread> writers)
            throws InterruptedException {
        for (int writer = 0; writer < WRITERS; writer++) {
            while (acknowledged.get(writer) < writes && writers.get(writer).isAlive()) {
                Thread.sleep(1);
            }
        }
    }

    /** Write n of a writer puts n under key n modulo the number of keys, until the store is closed. */
    private static void write(LsmStorage storage, int writer, AtomicIntegerArray acknowledged) {
        for (int n = 1; ; n++) {
            while (true) {
                try {
                    storage.put(utf8(key(writer, n)), utf8(n + " " + "x".repeat(n * 7 % 50)));
                    acknowledged.set(writer, n);
                    break;
                } catch (StorageException e) {
                    if (e.getMessage().contains("is closed")) {
                        return;
                    }
                }
            }
        }
    }

    private static String key(int writer, int n) {
        return "writer" + writer + "/" + n % KEYS;
    }

    private void check(Path left, int[] promised, String run) throws IOException {
        try (LsmStorage storage = new LsmStorage(left, OPTIONS)) {
            for (int writer = 0; writer < WRITERS; writer++) {
                acknowledgedWrites += promised[writer];
                for (int n = Math.max(1, promised[writer] - KEYS + 1); n <= promised[writer]; n++) {
                    byte[] value = storage.get(utf8(key(writer, n)));
                    int shown = value == null ? 0
                            : Integer.parseInt(new String(value, java.nio.charset.StandardCharsets.UTF_8).split(" ")[0]);
                    assertTrue(shown >= n, "write " + n + " of writer " + writer + " was acknowledged and is lost, the store "
                            + "shows " + shown + " (" + run + ")");
                }
            }
        }
    }
}
