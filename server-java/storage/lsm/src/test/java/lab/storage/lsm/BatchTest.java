package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import lab.storage.Batch;
import lab.storage.Bytes;
import lab.storage.EntryTooLargeException;
import lab.storage.StorageException;
import lab.storage.conformance.Length;
import lab.storage.lsm.manifest.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever happens to the process, the power or the disk, all writes of a batch are there or none. */
class BatchTest {

    private static final int STORES = Length.of(8, 300);
    private static final int LOSSES = 4;
    private static final int MOST_BATCHES = 60;
    private static final int KEYS = 40;
    private static final int ONE_ENTRY_IN_DELETES = 6;
    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(1 << 20)
            .compaction(LsmOptions.Compaction.OFF).maxKeyBytes(100).maxValueBytes(1_000).build();

    @TempDir
    private Path folder;

    /** What the batch with a number does, the same each time; the first one is 1. */
    private static Batch batch(int number) {
        SplittableRandom random = new SplittableRandom(number);
        Batch batch = new Batch();
        for (int entries = 1 + random.nextInt(8); entries > 0; entries--) {
            MemorySegment key = utf8("key" + random.nextInt(KEYS));
            if (random.nextInt(ONE_ENTRY_IN_DELETES) == 0) {
                batch.delete(key);
            } else {
                batch.put(key, utf8(number + "/" + entries + "x".repeat(random.nextInt(150))));
            }
        }
        return batch;
    }

    /** What a store holds after so many batches. */
    private static SortedMap<String, String> state(int batches) {
        SortedMap<String, String> state = new TreeMap<>();
        for (int number = 1; number <= batches; number++) {
            Batch batch = batch(number);
            for (int i = 0; i < batch.size(); i++) {
                if (batch.value(i) == null) {
                    state.remove(Bytes.text(batch.key(i)));
                } else {
                    state.put(Bytes.text(batch.key(i)), Bytes.text(batch.value(i)));
                }
            }
        }
        return state;
    }

    @Test
    void lossOfPowerLeavesWholeBatchesWithABufferedLog() throws IOException {
        loseThePowerOfManyStores(LsmOptions.Wal.BUFFERED);
    }

    @Test
    void lossOfPowerLeavesAllAcknowledgedBatchesWithASyncedLog() throws IOException {
        loseThePowerOfManyStores(LsmOptions.Wal.SYNC);
    }

    @Test
    void lossOfPowerLeavesWholeBatchesWithoutALog() throws IOException {
        loseThePowerOfManyStores(LsmOptions.Wal.OFF);
    }

    private void loseThePowerOfManyStores(LsmOptions.Wal wal) throws IOException {
        for (int store = 0; store < STORES; store++) {
            SplittableRandom random = new SplittableRandom(store);
            LsmOptions options = OPTIONS.toBuilder().flushThresholdBytes(6_000 + random.nextInt(8_000)).wal(wal)
                    .compaction(LsmOptions.Compaction.SIZE_TIERED).maxTableBytes(2_000).build();
            Path now = Files.createDirectories(folder.resolve(wal + "-" + store + "-0"));
            int done = 0;
            int promised = 0;
            for (int loss = 0; loss <= LOSSES; loss++) {
                PowerLossDisk disk = new PowerLossDisk(now, wal != LsmOptions.Wal.SYNC);
                Path left = folder.resolve(wal + "-" + store + "-" + (loss + 1));
                try (LsmStorage storage = new LsmStorage(now, options, disk)) {
                    SortedMap<String, String> shown = Contents.of(storage);
                    int batches = Contents.writes(shown, BatchTest::state, promised, done);
                    assertTrue(batches >= 0, wal + ", store " + store + ", loss " + loss + ": of " + done + " batches, "
                            + promised + " of them promised, a state is left that is after no batch");
                    promised = batches;
                    done = batches;
                    for (int more = random.nextInt(MOST_BATCHES); more > 0; more--) {
                        storage.write(batch(++done));
                        promised = wal == LsmOptions.Wal.SYNC ? done : promised;
                        if (random.nextInt(MOST_BATCHES) == 0) {
                            storage.flush();
                            promised = done;
                        }
                    }
                    disk.losePower(left, random);
                }
                now = left;
            }
        }
    }

    @Test
    void logCutAtAnyByteGivesWholeBatchesAndWritingGoesOn() throws IOException {
        int batches = 12;
        Path killed = folder.resolve("killed");
        Path live = folder.resolve("live");
        try (LsmStorage storage = new LsmStorage(live, OPTIONS)) {
            for (int number = 1; number <= batches; number++) {
                storage.write(batch(number));
            }
            CrashedCopy.take(live, killed);
        }
        Path log = firstLog(killed);
        byte[] whole = Files.readAllBytes(log);
        int end = whole.length;
        while (whole[end - 1] == 0) {
            end--;
        }
        for (int length = Length.of(end * 3 / 4, 0); length < end; length += Length.of(23, 1)) {
            assertTrue(recover(folder.resolve("cut" + length), log, Arrays.copyOf(whole, length), batches) < batches);
        }
        assertEquals(batches, recover(folder.resolve("whole"), log, Arrays.copyOf(whole, end), batches));
    }

    /** Opens a store that has only this log, writes the rest, and gives the number of batches that it showed. */
    private static int recover(Path store, Path name, byte[] log, int batches) throws IOException {
        Files.createDirectories(store);
        Files.copy(name.resolveSibling(Manifest.FILE_NAME), store.resolve(Manifest.FILE_NAME));
        Files.write(store.resolve(name.getFileName()), log);
        try (LsmStorage storage = new LsmStorage(store, OPTIONS)) {
            int shown = Contents.writes(Contents.of(storage), BatchTest::state, 0, batches);
            assertTrue(shown >= 0, "cut to " + log.length + " bytes, it gives a state that is after no batch");
            for (int number = shown + 1; number <= batches; number++) {
                storage.write(batch(number));
            }
            assertEquals(state(batches), Contents.of(storage));
            return shown;
        }
    }

    private static Path firstLog(Path store) throws IOException {
        try (var files = Files.list(store)) {
            return files.filter(file -> file.toString().endsWith(".log")).sorted().findFirst().orElseThrow();
        }
    }

    @Test
    void fullDiskRefusesAllOfABatch() throws IOException {
        FullDisk disk = new FullDisk();
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS, disk)) {
            disk.fill(".log", 0);
            int refused = 0;
            SortedMap<String, String> expected = new TreeMap<>();
            for (int number = 0; refused < 5; number++) {
                Batch batch = new Batch();
                for (int i = 0; i < 20; i++) {
                    batch.put(utf8("key" + i), utf8(number + "x".repeat(900)));
                }
                try {
                    storage.write(batch);
                    for (int i = 0; i < 20; i++) {
                        expected.put("key" + i, number + "x".repeat(900));
                    }
                } catch (StorageException e) {
                    refused++;
                }
                assertTrue(expected.equals(Contents.of(storage)), "batch " + number);
            }
            disk.makeRoom();
        }
    }

    @Test
    void batchWithOneEntryThatIsTooLargeDoesNothing() {
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            Batch batch = new Batch().put(utf8("a"), utf8("1")).put(utf8("b"), MemorySegment.ofArray(new byte[1_001]));
            assertThrows(EntryTooLargeException.class, () -> storage.write(batch));
            assertNull(storage.get(utf8("a")));
            storage.write(new Batch());
            assertEquals(0, ((Number) storage.statistics().get("writes")).intValue());
        }
    }

    @Test
    void batchThatDoesNotFitIntoAMemtableIsRefusedAndOneThatFillsItIsTaken() {
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS.toBuilder().flushThresholdBytes(100_000).build())) {
            storage.put(utf8("first"), utf8("so that the memtable is not empty"));
            Batch fits = new Batch();
            for (int i = 0; i < 80; i++) {
                fits.put(utf8("fits" + i), MemorySegment.ofArray(new byte[1_000]));
            }
            storage.write(fits);
            assertNotNull(storage.get(utf8("fits79")));
            Batch large = new Batch();
            for (int i = 0; i < 100; i++) {
                large.put(utf8("large" + i), MemorySegment.ofArray(new byte[1_000]));
            }
            EntryTooLargeException refused = assertThrows(EntryTooLargeException.class, () -> storage.write(large));
            assertTrue(refused.getMessage().contains("100000"), refused.getMessage());
            assertNull(storage.get(utf8("large0")));
        }
    }
}
