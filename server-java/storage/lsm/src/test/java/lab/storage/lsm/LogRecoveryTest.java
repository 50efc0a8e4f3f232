package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.StorageException;
import lab.storage.conformance.Length;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.log.LogFormat;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever part of the log a loss of power leaves, the store opens and shows the state after some write: all before it, none after. */
class LogRecoveryTest {

    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(1 << 20)
            .compaction(LsmOptions.Compaction.OFF).maxKeyBytes(100).maxValueBytes(1_000).build();
    private static final int WRITES = 30;
    private static final int LAST_RECORDS = 4;
    /** Each byte is tried in the long tests. */
    private static final int STEP = Length.of(13, 1);
    /** Each length is tried in the long tests. */
    private static final int CUT_STEP = Length.of(5, 1);

    @TempDir
    private Path folder;

    /** A machine that lost its power since the stores were made. */
    private static class RestartedMachine extends Disk {
        @Override
        public String boot() {
            return "after the power came back";
        }
    }

    /** What the store holds after so many of the writes. */
    private static SortedMap<String, String> state(int writes) {
        SortedMap<String, String> map = new TreeMap<>();
        for (int i = 0; i < writes; i++) {
            if (i % 5 == 4) {
                map.remove(key(i - 3));
            } else {
                map.put(key(i), value(i));
            }
        }
        return map;
    }

    private static String key(int i) {
        return "key" + i % 12;
    }

    private static String value(int i) {
        return "value " + i + "x".repeat(i % 7);
    }

    private static void write(LsmStorage storage, int from, int to) {
        for (int i = from; i < to; i++) {
            if (i % 5 == 4) {
                storage.delete(utf8(key(i - 3)));
            } else {
                storage.put(utf8(key(i)), utf8(value(i)));
            }
        }
    }

    private static SortedMap<String, String> read(LsmStorage storage) {
        SortedMap<String, String> map = new TreeMap<>();
        try (Cursor cursor = storage.range(null, null)) {
            while (cursor.next()) {
                map.put(Bytes.text(cursor.key()), Bytes.text(cursor.value()));
            }
        }
        return map;
    }

    private static Path log(Path store) throws IOException {
        try (var files = Files.list(store)) {
            return files.filter(file -> file.toString().endsWith(".log")).min(Comparator.naturalOrder()).orElseThrow();
        }
    }

    /** A store that was killed after the writes; its log is as long as its records. */
    private Path killed() throws IOException {
        Path copy = folder.resolve("killed");
        try (LsmStorage storage = new LsmStorage(folder.resolve("live"), OPTIONS)) {
            write(storage, 0, WRITES);
            CrashedCopy.take(folder.resolve("live"), copy);
        }
        Path log = log(copy);
        byte[] bytes = Files.readAllBytes(log);
        int end = bytes.length;
        while (bytes[end - 1] == 0) {
            end--;
        }
        Files.write(log, Arrays.copyOf(bytes, end));
        try (var files = Files.newDirectoryStream(copy, "*.log")) {
            for (Path file : files) {
                if (!file.equals(log)) {
                    Files.delete(file);
                }
            }
        }
        return copy;
    }

    private static int startOfLastRecords() {
        int start = LogFormat.HEADER_BYTES;
        for (int i = 0; i < WRITES - LAST_RECORDS; i++) {
            boolean delete = i % 5 == 4;
            start += (int) LogFormat.recordBytes(key(delete ? i - 3 : i).length(), delete ? -1 : value(i).length());
        }
        return start;
    }

    @Test
    void killedProcessLosesNothing() throws IOException {
        Path store = killed();
        try (LsmStorage storage = new LsmStorage(store, OPTIONS)) {
            assertEquals(state(WRITES), read(storage));
        }
    }

    @Test
    void logCutAtAnyByteGivesAPrefixAndWritingGoesOn() throws IOException {
        Path store = killed();
        byte[] whole = Files.readAllBytes(log(store));
        String name = log(store).getFileName().toString();
        int last = -1;
        int cuts = (whole.length - startOfLastRecords()) / CUT_STEP;
        for (int left = cuts * CUT_STEP; left >= 0; left -= CUT_STEP) {
            int writes = recover(folder.resolve("cut" + left), name, Arrays.copyOf(whole, whole.length - left));
            assertTrue(writes >= last, "a longer log gives no less");
            last = writes;
        }
        assertEquals(WRITES, last);
        for (int length = 0; length <= LogFormat.HEADER_BYTES; length += CUT_STEP) {
            assertEquals(0, recover(folder.resolve("head" + length), name, Arrays.copyOf(whole, length)));
        }
    }

    @Test
    void pagesThatNeverReachedTheDiskGiveAPrefix() throws IOException {
        Path store = killed();
        byte[] whole = Files.readAllBytes(log(store));
        String name = log(store).getFileName().toString();
        for (int from = startOfLastRecords(); from < whole.length; from += STEP) {
            byte[] holed = whole.clone();
            Arrays.fill(holed, from, Math.min(whole.length, from + 16), (byte) 0);
            recover(folder.resolve("hole" + from), name, holed);
        }
    }

    @Test
    void flippedByteInTheLogGivesThePrefixBeforeIt() throws IOException {
        Path store = killed();
        byte[] whole = Files.readAllBytes(log(store));
        String name = log(store).getFileName().toString();
        for (int at = startOfLastRecords(); at < whole.length; at += STEP) {
            byte[] bad = whole.clone();
            bad[at] ^= 0x11;
            assertTrue(recover(folder.resolve("flip" + at), name, bad) < WRITES, "the flip at " + at + " went unseen");
        }
    }

    /** Opens a store that has only this log, twice, and gives the number of writes that it shows. */
    private int recover(Path store, String logName, byte[] log) throws IOException {
        Files.createDirectories(store);
        Files.copy(folder.resolve("killed").resolve(Manifest.FILE_NAME), store.resolve(Manifest.FILE_NAME));
        Files.write(store.resolve(logName), log);
        int writes;
        Disk disk = new RestartedMachine();
        try (LsmStorage storage = new LsmStorage(store, OPTIONS, disk)) {
            writes = writesOf(read(storage));
            write(storage, writes, WRITES);
            Path again = store.resolveSibling(store.getFileName() + "-again");
            CrashedCopy.take(store, again);
            try (LsmStorage second = new LsmStorage(again, OPTIONS, disk)) {
                assertEquals(state(WRITES), read(second), "what was written after the cut is lost");
            }
        }
        return writes;
    }

    private static int writesOf(SortedMap<String, String> shown) {
        for (int writes = 0; writes <= WRITES; writes++) {
            if (state(writes).equals(shown)) {
                return writes;
            }
        }
        throw new AssertionError("this is the state after no write: " + shown);
    }

    @Test
    void logThatDoesNotGoOnWhereTheOneBeforeEndsIsNotRead() throws IOException {
        Path store = killed();
        byte[] first = Files.readAllBytes(log(store));
        Files.write(log(store), Arrays.copyOf(first, startOfLastRecords()));
        Path later = addLog(store, 40, WRITES + 1);
        try (LsmStorage storage = new LsmStorage(store, OPTIONS, new RestartedMachine())) {
            assertEquals(state(WRITES - LAST_RECORDS), read(storage));
        }
        assertFalse(Files.exists(later), "and is not found again the next time");
    }

    /** Adds a log to a store that has the number after those of before. */
    private static Path addLog(Path store, long number, long firstSequence) throws IOException {
        Path file = StoreFolder.logFile(store, number);
        Log log = Log.create(Disk.REAL, file, number, 1 << 20, 1 << 16, true);
        log.begin(firstSequence);
        log.append("after the gap".getBytes(), utf8("1"), firstSequence);
        log.close();
        return file;
    }

    @Test
    void writesAfterALogWithoutAHeaderSurviveTheNextCrash() throws IOException {
        Path store = killed();
        Path bad = addLog(store, 40, WRITES + 1);
        byte[] bytes = Files.readAllBytes(bad);
        bytes[1] ^= 1;
        Files.write(bad, bytes);
        Path later = addLog(store, 41, WRITES + 2);
        Path again = folder.resolve("again");
        try (LsmStorage storage = new LsmStorage(store, OPTIONS, new RestartedMachine())) {
            assertEquals(state(WRITES), read(storage));
            assertFalse(Files.exists(bad), "it would end the reading of logs the next time too");
            assertFalse(Files.exists(later));
            storage.put(utf8("since"), utf8("1"));
            CrashedCopy.take(store, again);
        }
        try (LsmStorage storage = new LsmStorage(again, OPTIONS, new RestartedMachine())) {
            assertEquals("1", read(storage).get("since"), "an acknowledged write is lost");
        }
    }

    @Test
    void logOfWhichNothingReachedTheDiskEndsTheReading() throws IOException {
        Path store = folder.resolve("store");
        new LsmStorage(store, OPTIONS).close();
        Files.write(StoreFolder.logFile(store, 3), new byte[1 << 16]);
        Path later = addLog(store, 4, 50);
        try (LsmStorage storage = new LsmStorage(store, OPTIONS, new RestartedMachine())) {
            assertTrue(read(storage).isEmpty(), "the 49 writes before this one are lost: " + read(storage));
        }
        assertFalse(Files.exists(later));
    }

    @Test
    void removingWhatComesAfterACutMayBeInterrupted() throws IOException {
        Path store = killed();
        byte[] first = Files.readAllBytes(log(store));
        Files.write(log(store), Arrays.copyOf(first, LogFormat.HEADER_BYTES + 5));
        Path later = addLog(store, 40, WRITES + 1);
        Disk stopsThere = new RestartedMachine() {
            @Override
            public void rename(Path from, Path to) throws IOException {
                if (from.equals(later)) {
                    throw new IOException("the process ends here");
                }
                super.rename(from, to);
            }
        };
        assertThrows(StorageException.class, () -> new LsmStorage(store, OPTIONS, stopsThere));
        try (LsmStorage storage = new LsmStorage(store, OPTIONS, new RestartedMachine())) {
            assertTrue(read(storage).isEmpty(), "a later write without the earlier ones: " + read(storage));
        }
    }

    @Test
    void logsOfSeveralMemtablesAreReadInOrder() throws IOException {
        LsmOptions small = LsmOptions.builder().flushThresholdBytes(4_000).compaction(LsmOptions.Compaction.OFF)
                .maxKeyBytes(100).maxValueBytes(1_000).build();
        Path copy = folder.resolve("copy");
        try (LsmStorage storage = new LsmStorage(folder.resolve("live"), small)) {
            for (int i = 0; i < 2_000; i++) {
                storage.put(utf8("key" + i % 100), utf8("value" + i));
            }
            CrashedCopy.take(folder.resolve("live"), copy);
        }
        try (LsmStorage storage = new LsmStorage(copy, LsmOptions.builder().flushThresholdBytes(1_000)
                .compaction(LsmOptions.Compaction.OFF).maxKeyBytes(100).maxValueBytes(1_000).build())) {
            SortedMap<String, String> shown = read(storage);
            assertEquals(100, shown.size());
            for (int i = 1_900; i < 2_000; i++) {
                assertEquals("value" + i, shown.get("key" + i % 100));
            }
        }
    }

    @Test
    void emptyKeyIsRefused() {
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            assertThrows(IllegalArgumentException.class, () -> storage.put(utf8(""), utf8("1")));
            assertThrows(IllegalArgumentException.class, () -> storage.delete(utf8("")));
        }
    }

    @Test
    void storeWithoutALogReadsTheLogOfBefore() throws IOException {
        Path store = killed();
        try (LsmStorage storage = new LsmStorage(store, OPTIONS.toBuilder().wal(LsmOptions.Wal.OFF).build())) {
            assertEquals(state(WRITES), read(storage));
            storage.flush();
        }
        try (var files = Files.list(store)) {
            assertEquals(0, files.filter(file -> file.toString().endsWith(".log")).count());
        }
        try (LsmStorage storage = new LsmStorage(store, OPTIONS)) {
            assertEquals(state(WRITES), read(storage));
        }
    }
}
