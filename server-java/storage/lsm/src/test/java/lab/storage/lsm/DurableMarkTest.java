package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import lab.storage.conformance.Length;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damage of a log below what was forced to disk is refused and named, and nothing is changed; above it the log is cut. */
class DurableMarkTest {

    private static final LsmOptions SYNCED = LsmOptions.builder().wal(LsmOptions.Wal.SYNC).maxKeyBytes(100)
            .compaction(LsmOptions.Compaction.OFF).maxValueBytes(1_000).flushThresholdBytes(1 << 20).build();
    private static final int WRITES = 12;
    /** Each byte is tried in the long tests. */
    private static final int STEP = Length.of(11, 1);

    @TempDir
    private Path folder;

    private static void write(LsmStorage storage) {
        for (int i = 0; i < WRITES; i++) {
            storage.put(utf8("key" + i), utf8("value" + i));
        }
    }

    /** A store that was killed after synced writes; its only log has no room for more. */
    private Path killed() throws IOException {
        Path copy = folder.resolve("killed");
        try (LsmStorage storage = new LsmStorage(folder.resolve("live"), SYNCED)) {
            write(storage);
            CrashedCopy.take(folder.resolve("live"), copy);
        }
        Path log = StoreFolder.logFile(copy, 1);
        byte[] bytes = Files.readAllBytes(log);
        int end = bytes.length;
        while (bytes[end - 1] == 0) {
            end--;
        }
        Files.write(log, Arrays.copyOf(bytes, end));
        Files.deleteIfExists(StoreFolder.logFile(copy, 2));
        return copy;
    }

    private static Map<String, String> contents(Path store) throws IOException {
        Map<String, String> contents = new TreeMap<>();
        try (var files = Files.newDirectoryStream(store)) {
            for (Path file : files) {
                if (!file.endsWith("LOCK")) {
                    contents.put(file.getFileName().toString(), Integer.toString(Arrays.hashCode(Files.readAllBytes(file))));
                }
            }
        }
        return contents;
    }

    private static CorruptionException refused(Path store) throws IOException {
        Map<String, String> before = contents(store);
        CorruptionException refused = assertThrows(CorruptionException.class, () -> new LsmStorage(store, SYNCED));
        assertEquals(before, contents(store), "the folder was changed");
        return refused;
    }

    @Test
    void everyFlippedByteOfASyncedLogIsRefused() throws IOException {
        Path store = killed();
        Path log = StoreFolder.logFile(store, 1);
        byte[] whole = Files.readAllBytes(log);
        for (int at = 0; at < whole.length; at += STEP) {
            byte[] bad = whole.clone();
            bad[at] ^= 0x11;
            Files.write(log, bad);
            CorruptionException refused = refused(store);
            assertEquals(log, refused.file());
            assertTrue(refused.offset() <= at, "offset " + refused.offset() + ", but the byte at " + at + " is damaged");
        }
        Files.write(log, whole);
        try (LsmStorage storage = new LsmStorage(store, SYNCED)) {
            assertNotNull(storage.get(utf8("key" + (WRITES - 1))));
        }
    }

    @Test
    void syncedLogThatBecameShorterIsRefused() throws IOException {
        Path store = killed();
        Path log = StoreFolder.logFile(store, 1);
        byte[] whole = Files.readAllBytes(log);
        for (int length = 40; length < whole.length; length += STEP) {
            Files.write(log, Arrays.copyOf(whole, length));
            assertEquals(log, refused(store).file());
        }
    }

    @Test
    void whatFollowsTheMarkIsCut() throws IOException {
        Path store = killed();
        Path log = StoreFolder.logFile(store, 1);
        byte[] whole = Files.readAllBytes(log);
        byte[] more = Arrays.copyOf(whole, whole.length + 100);
        more[whole.length + 30] = 1;
        Files.write(log, more);
        try (LsmStorage storage = new LsmStorage(store, SYNCED)) {
            assertEquals(WRITES, storage.stats().entriesEstimate());
        }
    }

    @Test
    void logThatIsMissingBeforeASyncedOneIsRefused() throws IOException {
        Path store = killed();
        Path later = StoreFolder.logFile(store, 40);
        Log log = Log.create(Disk.REAL, later, 40, 1 << 20, 1 << 16, true);
        log.begin(WRITES + 1);
        log.append("after".getBytes(), utf8("1"), WRITES + 1);
        log.syncAll();
        log.close();
        Path first = StoreFolder.logFile(store, 1);
        byte[] bytes = Files.readAllBytes(first);
        Files.delete(first);
        assertEquals(later, refused(store).file());
        Files.write(first, bytes);
        try (LsmStorage storage = new LsmStorage(store, SYNCED)) {
            assertEquals(WRITES + 1, storage.stats().entriesEstimate());
        }
    }

    @Test
    void cleanCloseThatCouldNotFlushMarksABufferedLog() throws IOException {
        LsmOptions buffered = SYNCED.toBuilder().wal(LsmOptions.Wal.BUFFERED).build();
        FullDisk disk = new FullDisk();
        Path store = folder.resolve("store");
        try (LsmStorage storage = new LsmStorage(store, buffered, disk)) {
            write(storage);
            disk.fill(".table", 0);
        }
        Path log = StoreFolder.logFile(store, 1);
        byte[] bytes = Files.readAllBytes(log);
        bytes[100] ^= 1;
        Files.write(log, bytes);
        assertEquals(log, refused(store).file());
        bytes[100] ^= 1;
        Files.write(log, bytes);
        try (LsmStorage storage = new LsmStorage(store, buffered)) {
            assertEquals(WRITES, storage.stats().entriesEstimate());
        }
    }
}
