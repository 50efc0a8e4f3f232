package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import lab.storage.conformance.Length;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.log.LogFormat;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.tool.LsmCommand;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A buffered log is never forced to disk, but as long as the machine runs nothing of it is lost: after a kill, damage in it is
 * no loss of power. The store refuses it, and {@code lsm repair} keeps what follows; after a loss of power, what is cut off
 * is kept in a file.
 */
class DamagedLogTest {

    private static final LsmOptions BUFFERED = LsmOptions.builder().compaction(LsmOptions.Compaction.OFF).build();
    private static final int WRITES = 40;
    private static final int LATER_WRITES = 5;
    /** Each byte is tried in the long tests. */
    private static final int STEP = Length.of(13, 1);
    private static final long LATER = 40;
    private static final Disk RESTARTED = new Disk() {
        @Override
        public String boot() {
            return "after the power came back";
        }
    };

    @TempDir
    private Path folder;

    private Path store;
    private Path log;

    private static String key(int write) {
        return String.format("key%03d", write);
    }

    /** A store that was killed in this boot, with two logs; the first is as long as its records. */
    @BeforeEach
    void kill() throws IOException {
        store = folder.resolve("store");
        try (LsmStorage storage = new LsmStorage(folder.resolve("live"), BUFFERED)) {
            for (int write = 0; write < WRITES; write++) {
                storage.put(utf8(key(write)), utf8("value " + write));
            }
            CrashedCopy.take(folder.resolve("live"), store);
        }
        log = StoreFolder.logsIn(store).firstEntry().getValue();
        for (Path other : StoreFolder.logsIn(store).tailMap(2L).values()) {
            Files.delete(other);
        }
        byte[] bytes = Files.readAllBytes(log);
        int end = bytes.length;
        while (bytes[end - 1] == 0) {
            end--;
        }
        Files.write(log, Arrays.copyOf(bytes, end));
    }

    private Path addLaterLog() throws IOException {
        Path later = StoreFolder.logFile(store, LATER);
        Log second = Log.create(Disk.REAL, later, LATER, 1 << 20, 1 << 16, false);
        second.begin(WRITES + 1);
        for (int write = WRITES; write < WRITES + LATER_WRITES; write++) {
            second.append(key(write).getBytes(StandardCharsets.UTF_8), utf8("value " + write), write + 1);
        }
        second.close();
        return later;
    }

    private static int recordBytes(int write) {
        return (int) LogFormat.recordBytes(key(write).length(), ("value " + write).length());
    }

    /** Where the record of a write starts. */
    private static int start(int write) {
        int start = LogFormat.HEADER_BYTES;
        for (int i = 0; i < write; i++) {
            start += recordBytes(i);
        }
        return start;
    }

    private void flip(int at) throws IOException {
        byte[] bytes = Files.readAllBytes(log);
        bytes[at] ^= 0x11;
        Files.write(log, bytes);
    }

    private Map<String, String> contents() throws IOException {
        Map<String, String> contents = new TreeMap<>();
        try (var files = Files.newDirectoryStream(store)) {
            for (Path file : files) {
                if (!file.endsWith("LOCK")) {
                    contents.put(file.getFileName().toString(),
                            Integer.toString(Arrays.hashCode(Files.readAllBytes(file))));
                }
            }
        }
        return contents;
    }

    private CorruptionException refused() throws IOException {
        Map<String, String> before = contents();
        CorruptionException refused = assertThrows(CorruptionException.class, () -> new LsmStorage(store, BUFFERED));
        assertEquals(before, contents(), "the folder was changed");
        return refused;
    }

    private String tool(int expected, String command) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int code = LsmCommand.run(new String[] {command, store.toString()}, new PrintStream(bytes, true,
                StandardCharsets.UTF_8));
        String said = bytes.toString(StandardCharsets.UTF_8);
        assertEquals(expected, code, said);
        return said;
    }

    @Test
    void everyFlippedByteIsRefusedAfterAKill() throws IOException {
        byte[] whole = Files.readAllBytes(log);
        for (int at = 0; at < whole.length; at += STEP) {
            flip(at);
            CorruptionException refused = refused();
            assertEquals(log, refused.file());
            assertTrue(refused.offset() <= at, "offset " + refused.offset() + ", but the byte at " + at + " is damaged");
            Files.write(log, whole);
        }
    }

    @Test
    void holeBeforeALaterLogIsRefusedAndRepairKeepsAllOtherWrites() throws IOException {
        addLaterLog();
        flip(start(10) + LogFormat.RECORD_HEADER_BYTES);
        int follow = WRITES - 11 + LATER_WRITES;
        assertEquals(start(10), refused().offset());
        assertTrue(tool(1, "verify").contains(follow + " whole writes follow"));
        String said = tool(0, "repair");
        assertTrue(said.contains(WRITES - 1 + " whole writes kept, " + (WRITES - 11) + " of them after"), said);
        tool(0, "verify");
        try (LsmStorage storage = new LsmStorage(store, BUFFERED)) {
            for (int write = 0; write < WRITES + LATER_WRITES; write++) {
                assertEquals(write == 10, storage.get(utf8(key(write))) == null, key(write));
            }
        }
    }

    @Test
    void sectorOfZerosIsRefusedAfterAKill() throws IOException {
        byte[] bytes = Files.readAllBytes(log);
        Arrays.fill(bytes, start(5), start(20) + 5, (byte) 0);
        Files.write(log, bytes);
        assertEquals(start(5), refused().offset());
    }

    @Test
    void missingLogIsRefusedAfterAKill() throws IOException {
        Path later = addLaterLog();
        Files.delete(log);
        assertEquals(later, refused().file());
    }

    /** The value, the key and their lengths are stored before the checksum. */
    @Test
    void recordThatAKilledProcessWasWritingIsCut() throws IOException {
        byte[] whole = Files.readAllBytes(log);
        int last = start(WRITES - 1);
        for (int length = last + LogFormat.RECORD_HEADER_BYTES; length <= whole.length; length++) {
            byte[] unfinished = Arrays.copyOf(Arrays.copyOf(whole, length), 1 << 16);
            Arrays.fill(unfinished, last, last + Integer.BYTES, (byte) 0);
            Files.write(log, unfinished);
            assertTrue(tool(0, "verify").contains("The next start will cut"));
            Path copy = folder.resolve("cut" + length);
            CrashedCopy.take(store, copy);
            try (LsmStorage storage = new LsmStorage(copy, BUFFERED)) {
                assertNotNull(storage.get(utf8(key(WRITES - 2))));
                assertNull(storage.get(utf8(key(WRITES - 1))));
            }
        }
    }

    @Test
    void whatIsCutOffAfterALossOfPowerIsKept() throws IOException {
        Path later = addLaterLog();
        byte[] second = Files.readAllBytes(later);
        flip(start(10));
        byte[] first = Files.readAllBytes(log);
        for (int open = 0; open < 2; open++) {
            try (LsmStorage storage = new LsmStorage(store, BUFFERED, RESTARTED)) {
                assertNotNull(storage.get(utf8(key(9))));
                assertNull(storage.get(utf8(key(11))));
            }
            assertArrayEquals(Arrays.copyOfRange(first, start(10), first.length),
                    Files.readAllBytes(store.resolve(log.getFileName() + ".cut-at-" + start(10))));
            assertArrayEquals(second, Files.readAllBytes(store.resolve(later.getFileName() + ".cut-at-0")));
            assertFalse(Files.exists(later));
        }
    }
}
