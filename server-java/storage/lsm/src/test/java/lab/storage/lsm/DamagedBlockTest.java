package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import lab.storage.Cursor;
import lab.storage.StorageException;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A damaged block costs the keys in it and nothing else: the store names them, writes go on, and merges leave it alone. */
class DamagedBlockTest {

    private static final int KEYS = 1_000;
    private static final int DAMAGED_KEY = 500;
    private static final Duration TIMEOUT = Duration.ofSeconds(120);
    /** Somewhere in the middle of the blocks of the first table. */
    private static final long DAMAGED_AT = 50_000;

    @TempDir
    private Path folder;

    private final BadSectorDisk disk = new BadSectorDisk();

    private LsmStorage open(LsmOptions.Compaction compaction, int bloomBits) {
        return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(1 << 20).compaction(compaction)
                .bloomBitsPerKey(bloomBits).build(), disk);
    }

    private static MemorySegment key(int i) {
        return utf8(String.format("key%04d", i));
    }

    private static byte[] value(int i) {
        byte[] value = new byte[100];
        value[0] = (byte) i;
        return value;
    }

    private static void fill(LsmStorage storage) {
        for (int i = 0; i < KEYS; i++) {
            storage.put(key(i), MemorySegment.ofArray(value(i)));
        }
        storage.flush();
    }

    private Path table() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".table")).sorted().findFirst().orElseThrow();
        }
    }

    private void flipByte() throws IOException {
        try (FileChannel channel = FileChannel.open(table(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            long at = Math.min(DAMAGED_AT, channel.size() / 2);
            ByteBuffer buffer = ByteBuffer.allocate(1);
            Disk.REAL.read(channel, buffer, at);
            buffer.put(0, (byte) (buffer.get(0) ^ 0x5a)).flip();
            channel.write(buffer, at);
        }
    }

    private static List<?> damaged(LsmStorage storage) {
        return (List<?>) storage.statistics().get("damaged_ranges");
    }

    /** Reads all; gives the number of keys that cannot be read. */
    private static int unreadable(LsmStorage storage) {
        int failed = 0;
        for (int i = 0; i < KEYS; i++) {
            try {
                assertArrayEquals(value(i), storage.get(key(i)));
            } catch (StorageException e) {
                assertTrue(e.getMessage().contains("The keys from") || e.getMessage().contains("the keys from"),
                        e.getMessage());
                failed++;
            }
        }
        return failed;
    }

    @Test
    void putLooksIntoNoTable() throws IOException {
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF, 0)) {
            fill(storage);
            flipByte();
            for (int i = 0; i < KEYS; i++) {
                storage.put(key(i), MemorySegment.ofArray(value(i)));
            }
            assertEquals(List.of(), List.copyOf(damaged(storage)), "a block was read");
            assertEquals(KEYS, storage.stats().entriesEstimate(), 100);
            assertEquals(1, damaged(storage).size(), "asking for the number of keys reads a sample");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 10})
    void writesGoOnAndKeysOfOtherBlocksAreRead(int bloomBits) throws IOException {
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF, bloomBits)) {
            fill(storage);
            flipByte();
            int failed = unreadable(storage);
            assertTrue(failed > 0 && failed < 100, failed + " keys cannot be read");
            assertEquals(1, damaged(storage).size());
            assertTrue(damaged(storage).getFirst().toString().matches(".*\\.table: from \"key.*\" to \"key.*\""),
                    damaged(storage).toString());
            for (int i = 0; i < KEYS; i++) {
                storage.put(key(i), MemorySegment.ofArray(value(i)));
            }
            storage.flush();
            assertEquals(0, unreadable(storage), "newer values lie above the damaged ones");
        }
    }

    @ParameterizedTest
    @EnumSource(value = LsmOptions.Compaction.class, names = {"SIZE_TIERED", "LEVELED"})
    void mergesGoOnWithoutTheDamagedTable(LsmOptions.Compaction compaction) throws IOException {
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF, 10)) {
            fill(storage);
        }
        flipByte();
        try (LsmStorage storage = open(compaction, 10)) {
            for (int round = 0; round < 40; round++) {
                storage.put(key(KEYS + round), MemorySegment.ofArray(value(round)));
                storage.put(key(0), MemorySegment.ofArray(value(0)));
                storage.flush();
            }
            assertTimeoutPreemptively(TIMEOUT, () -> {
                while (damaged(storage).isEmpty() || storage.stats().tables() > 12) {
                    Thread.sleep(5);
                }
            });
            assertTrue(unreadable(storage) > 0, "the damage is still named");
            for (int round = 0; round < 40; round++) {
                assertArrayEquals(value(round), storage.get(key(KEYS + round)));
            }
        }
    }

    @Test
    void byteFlippedAfterItsFirstUseIsNotMerged() throws IOException {
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF, 10)) {
            fill(storage);
            assertEquals(0, unreadable(storage));
            storage.put(key(0), MemorySegment.ofArray(value(0)));
            storage.flush();
            flipByte();
            CorruptionException corruption = assertThrows(CorruptionException.class, storage::compact);
            assertTrue(corruption.getMessage().contains("the keys from"), corruption.getMessage());
            assertEquals(2, storage.stats().tables());
            assertTrue(unreadable(storage) > 0, "what a merge found damaged is not shown");
        }
    }

    @ParameterizedTest
    @EnumSource(value = Compression.class, names = {"NONE", "LZ4"})
    void byteFlippedAfterItsFirstUseIsNotShownWhereEachReadIsVerified(Compression compression) throws IOException {
        LsmOptions options = LsmOptions.builder().compaction(LsmOptions.Compaction.OFF).compression(compression)
                .verifyChecksums(LsmOptions.VerifyChecksums.ALWAYS).build();
        try (LsmStorage storage = new LsmStorage(folder, options, disk)) {
            fill(storage);
            assertEquals(0, unreadable(storage));
            flipByte();
            int failed = unreadable(storage);
            assertTrue(failed > 0 && failed < 400, failed + " keys cannot be read");
            assertThrows(CorruptionException.class, () -> count(storage.range(null, null)));
            List<MemorySegment> keys = IntStream.range(0, KEYS).mapToObj(DamagedBlockTest::key).toList();
            assertThrows(CorruptionException.class, () -> storage.get(keys));
            flipByte();
            assertEquals(0, unreadable(storage), "what was repaired is read again");
            assertEquals(List.of(), damaged(storage));
        }
    }

    private static int count(Cursor range) {
        int count = 0;
        try (range) {
            while (range.next()) {
                count++;
            }
        }
        return count;
    }

    @Test
    void byteFlippedAfterItsFirstUseIsFoundByAnIdleStore() throws IOException {
        try (LsmStorage storage = open(LsmOptions.Compaction.SIZE_TIERED, 10)) {
            fill(storage);
            assertEquals(0, unreadable(storage));
            flipByte();
            assertTimeoutPreemptively(TIMEOUT, () -> {
                while (damaged(storage).isEmpty()) {
                    Thread.sleep(20);
                }
            });
        }
    }

    @Test
    void readErrorIsNamedAndForgottenWhenTheDiskIsMended() {
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF, 10)) {
            fill(storage);
            disk.breakBytes(DAMAGED_AT, DAMAGED_AT + 1);
            int failed = unreadable(storage);
            assertTrue(failed > 0 && failed < 100, failed + " keys cannot be read");
            StorageException named = assertThrows(StorageException.class, storage::compact);
            assertTrue(named.getMessage().contains("Input/output error"), named.getMessage());
            assertEquals(1, damaged(storage).size());
            storage.put(key(DAMAGED_KEY), MemorySegment.ofArray(value(DAMAGED_KEY)));
            storage.flush();
            assertArrayEquals(value(DAMAGED_KEY), storage.get(key(DAMAGED_KEY)));
            disk.repair();
            assertEquals(0, unreadable(storage));
            assertEquals(List.of(), damaged(storage));
            storage.compact();
            assertEquals(0, unreadable(storage));
        }
    }

    @Test
    void interruptedReaderDoesNotCloseTheTable() throws IOException {
        try (LsmStorage storage = open(LsmOptions.Compaction.OFF, 10)) {
            fill(storage);
            Thread.currentThread().interrupt();
            try {
                assertEquals(0, unreadable(storage));
            } finally {
                assertTrue(Thread.interrupted(), "the reader lost its interrupt");
            }
            assertEquals(0, unreadable(storage));
        }
    }
}
