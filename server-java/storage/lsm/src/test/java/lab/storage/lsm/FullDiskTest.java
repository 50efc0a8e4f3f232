package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import lab.storage.StorageException;
import lab.storage.StorageFullException;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A disk without room refuses writes and says so; nothing is lost, reads go on, and writes are taken when there is room. */
class FullDiskTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(120);
    private static final int VALUE_BYTES = 1_000;

    @TempDir
    private Path folder;

    private final FullDisk disk = new FullDisk();

    private LsmStorage open(long threshold, LsmOptions.Compaction compaction) {
        return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(threshold).compaction(compaction)
                .maxKeyBytes(100).maxValueBytes(2_000_000).build(), disk);
    }

    private static MemorySegment key(int i) {
        return utf8("key" + i);
    }

    private static MemorySegment value(int i) {
        byte[] bytes = new byte[VALUE_BYTES];
        bytes[0] = (byte) i;
        return MemorySegment.ofArray(bytes);
    }

    /** Writes until it is refused; gives the number of writes that were taken. */
    private static int putUntilRefused(LsmStorage storage, int from) {
        for (int i = from; ; i++) {
            try {
                storage.put(key(i), value(i));
            } catch (StorageFullException e) {
                assertTrue(e.getMessage().contains("the disk is full"), e.getMessage());
                assertTrue(e.getMessage().contains("Free space"), e.getMessage());
                return i;
            }
        }
    }

    private static void putUntilTaken(LsmStorage storage, int i) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            while (true) {
                try {
                    storage.put(key(i), value(i));
                    return;
                } catch (StorageFullException e) {
                    Thread.sleep(20);
                }
            }
        });
    }

    private static void readAll(LsmStorage storage, int count) {
        for (int i = 0; i < count; i++) {
            byte[] value = storage.get(key(i));
            assertNotNull(value, "the write " + i + " that was taken is lost");
            assertEquals((byte) i, value[0]);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {".log", ".table", ""})
    void writesAreRefusedAndReadsGoOnUntilThereIsRoom(String suffix) {
        int after;
        try (LsmStorage storage = open(256 * 1024, LsmOptions.Compaction.SIZE_TIERED)) {
            for (int i = 0; i < 100; i++) {
                storage.put(key(i), value(i));
            }
            disk.fill(suffix, 1_000_000);
            int taken = assertTimeoutPreemptively(TIMEOUT, () -> putUntilRefused(storage, 100));
            readAll(storage, taken);
            assertThrows(StorageFullException.class, () -> putUntilRefusedOnce(storage, taken));
            readAll(storage, taken);
            disk.makeRoom();
            putUntilTaken(storage, taken);
            after = taken + 500;
            for (int i = taken + 1; i < after; i++) {
                putUntilTaken(storage, i);
            }
            readAll(storage, after);
        }
        try (LsmStorage storage = open(256 * 1024, LsmOptions.Compaction.SIZE_TIERED)) {
            readAll(storage, after);
        }
    }

    private static void putUntilRefusedOnce(LsmStorage storage, int from) {
        // A refused write leaves no trace, so the same one is refused again or, if it is small enough, taken.
        for (int i = 0; i < 1_000; i++) {
            storage.put(key(from), value(from));
        }
    }

    @Test
    void mergeWithoutRoomLeavesTheTablesAsTheyAre() {
        try (LsmStorage storage = open(1 << 20, LsmOptions.Compaction.OFF)) {
            for (int run = 0; run < 3; run++) {
                for (int i = 0; i < 300; i++) {
                    storage.put(key(i), value(i));
                }
                storage.flush();
            }
            disk.fill(".table", 100_000);
            assertThrows(StorageFullException.class, storage::compact);
            assertEquals(3, storage.stats().tables());
            readAll(storage, 300);
            disk.makeRoom();
            storage.compact();
            assertEquals(1, storage.stats().tables());
            readAll(storage, 300);
        }
    }

    @Test
    void closeWithoutRoomKeepsTheLogAndTheNextStartReadsIt() {
        try (LsmStorage storage = open(1 << 20, LsmOptions.Compaction.OFF)) {
            for (int i = 0; i < 300; i++) {
                storage.put(key(i), value(i));
            }
            disk.fill(".table", 0);
        }
        disk.makeRoom();
        try (LsmStorage storage = open(1 << 20, LsmOptions.Compaction.OFF)) {
            readAll(storage, 300);
        }
    }

    @Test
    void logThatCannotBeForcedRefusesTheWriteAndIsReplaced() {
        LsmOptions synced = LsmOptions.builder().flushThresholdBytes(1 << 20).compaction(LsmOptions.Compaction.OFF)
                .wal(LsmOptions.Wal.SYNC).maxKeyBytes(100).maxValueBytes(10_000).build();
        try (LsmStorage storage = new LsmStorage(folder, synced, disk)) {
            storage.put(key(0), value(0));
            disk.fill(".log", Long.MAX_VALUE);
            disk.failToForce(true);
            StorageException reported = assertThrows(StorageException.class, () -> storage.put(key(1), value(1)));
            assertTrue(reported.getMessage().contains("may be lost"), reported.getMessage());
            readAll(storage, 1);
            disk.failToForce(false);
            assertTimeoutPreemptively(TIMEOUT, () -> {
                while (true) {
                    try {
                        storage.put(key(2), value(2));
                        return;
                    } catch (StorageException e) {
                        Thread.sleep(20);
                    }
                }
            });
            assertNotNull(storage.get(key(2)));
        }
        try (LsmStorage storage = new LsmStorage(folder, synced, disk)) {
            assertNotNull(storage.get(key(0)));
            assertNotNull(storage.get(key(2)));
        }
    }
}
