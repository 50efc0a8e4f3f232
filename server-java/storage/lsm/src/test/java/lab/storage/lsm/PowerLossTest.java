package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import lab.storage.conformance.Length;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A machine that loses its power at any moment, several times over, keeps what was forced to disk and loses the rest in any
 * part: with a synced log every write that was acknowledged is there, with a buffered one all of them up to some write,
 * at least to the last flush.
 */
class PowerLossTest {

    private static final int STORES = Length.of(12, 500);
    private static final int LOSSES = 4;
    private static final int MOST_WRITES = 120;
    private static final int KEYS = 30;
    private static final int DELETE_EVERY = 5;
    private static final int FLUSH_CHANCE = 60;
    private static final int COMPACT_CHANCE = 150;

    @TempDir
    private Path folder;

    private static String key(int write) {
        return "key" + write * 7 % KEYS;
    }

    private static String value(int write) {
        return "value " + write + "x".repeat(write * 13 % 200);
    }

    private static void write(LsmStorage storage, int write) {
        if (write % DELETE_EVERY == 0) {
            storage.delete(utf8(key(write)));
        } else {
            storage.put(utf8(key(write)), utf8(value(write)));
        }
    }

    /** What the store holds after so many writes, the first of which is 1. */
    private static SortedMap<String, String> state(int writes) {
        SortedMap<String, String> state = new TreeMap<>();
        for (int write = 1; write <= writes; write++) {
            if (write % DELETE_EVERY == 0) {
                state.remove(key(write));
            } else {
                state.put(key(write), value(write));
            }
        }
        return state;
    }

    @Test
    void withABufferedLogTheStateAfterSomeWriteIsLeftAndWhatWasFlushed() throws IOException {
        loseThePowerOfManyStores(LsmOptions.Wal.BUFFERED);
    }

    @Test
    void withASyncedLogTheStateAfterTheLastAcknowledgedWriteIsLeft() throws IOException {
        loseThePowerOfManyStores(LsmOptions.Wal.SYNC);
    }

    private void loseThePowerOfManyStores(LsmOptions.Wal wal) throws IOException {
        long writes = 0;
        long lost = 0;
        for (int store = 0; store < STORES; store++) {
            SplittableRandom random = new SplittableRandom(store);
            LsmOptions.Compaction[] modes = LsmOptions.Compaction.values();
            LsmOptions options = LsmOptions.builder().flushThresholdBytes(2_000 + random.nextInt(8_000))
                    .compaction(modes[store % modes.length]).wal(wal).maxTableBytes(2_000).maxKeyBytes(100)
                    .maxValueBytes(1_000).build();
            Path now = Files.createDirectories(folder.resolve(wal + "-" + store + "-0"));
            int done = 0;
            int promised = 0;
            for (int loss = 0; loss <= LOSSES; loss++) {
                // A buffered log never forces its name, so only a journal keeps logs in their order.
                PowerLossDisk disk = new PowerLossDisk(now, wal == LsmOptions.Wal.BUFFERED);
                Path left = folder.resolve(wal + "-" + store + "-" + (loss + 1));
                try (LsmStorage storage = new LsmStorage(now, options, disk)) {
                    int shown = Contents.writes(Contents.of(storage), PowerLossTest::state, promised, done);
                    assertTrue(shown >= 0, wal + ", store " + store + ", loss " + loss + ": of " + done + " writes, "
                            + promised + " of them promised, this is left: " + Contents.of(storage));
                    lost += done - shown;
                    // What was read after a loss was on the disk, and must stay there.
                    promised = shown;
                    done = shown;
                    for (int more = random.nextInt(MOST_WRITES); more > 0; more--) {
                        write(storage, ++done);
                        writes++;
                        promised = wal == LsmOptions.Wal.SYNC ? done : promised;
                        if (random.nextInt(FLUSH_CHANCE) == 0) {
                            storage.flush();
                            promised = done;
                        }
                        if (random.nextInt(COMPACT_CHANCE) == 0) {
                            storage.compact();
                        }
                    }
                    disk.losePower(left, random);
                }
                now = left;
            }
        }
        assertTrue(wal == LsmOptions.Wal.SYNC || lost > 0, "with a buffered log something is lost now and then");
        System.out.println(wal + ": " + STORES + " stores lost their power " + LOSSES + " times each, in " + writes
                + " writes; " + lost + " were lost, none that was promised, and no store was a mix");
    }

    @Test
    void diskKeepsOnlyWhatWasForced() throws IOException {
        // The proof above says nothing if this disk keeps all.
        PowerLossDisk disk = new PowerLossDisk(Files.createDirectories(folder.resolve("a")), true);
        int kept = 0;
        for (int i = 0; i < 100; i++) {
            Path file = folder.resolve("a").resolve("file" + i);
            try (var channel = disk.create(file)) {
                disk.write(channel, ByteBuffer.wrap(new byte[] {1}), 0);
            }
            Path left = folder.resolve("left" + i);
            disk.losePower(left, new SplittableRandom(i));
            Path survivor = left.resolve(file.getFileName());
            kept += Files.exists(survivor) && Files.size(survivor) == 1 && Files.readAllBytes(survivor)[0] == 1 ? 1 : 0;
        }
        assertTrue(kept > 0 && kept < 100, "an unforced file was whole " + kept + " times of 100");
    }
}
