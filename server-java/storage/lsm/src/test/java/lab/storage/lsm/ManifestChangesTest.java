package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.StorageException;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The manifest grows by what changes; a change that is not whole counts only if it was known to be on disk. */
class ManifestChangesTest {

    private static final int RUNS = 40;

    @TempDir
    private Path folder;

    private static LsmOptions options(LsmOptions.Compaction compaction) {
        return LsmOptions.builder().flushThresholdBytes(1 << 20).compaction(compaction).maxTableBytes(2_000)
                .maxKeyBytes(100).maxValueBytes(2_000).build();
    }

    private static void flushRuns(LsmStorage storage, int runs) {
        for (int i = 0; i < runs; i++) {
            storage.put(utf8("key" + i), utf8("value" + i));
            storage.flush();
        }
    }

    private byte[] manifest() throws IOException {
        return Files.readAllBytes(folder.resolve(Manifest.FILE_NAME));
    }

    @Test
    void flushAddsAFewBytesHoweverManyRunsThereAre() throws IOException {
        AtomicInteger renames = new AtomicInteger();
        Disk disk = new Disk() {
            @Override
            public void rename(Path from, Path to) throws IOException {
                renames.incrementAndGet();
                super.rename(from, to);
            }
        };
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.OFF), disk)) {
            flushRuns(storage, RUNS);
            int before = manifest().length;
            storage.put(utf8("last"), utf8("1"));
            storage.flush();
            assertTrue(manifest().length - before < 150, manifest().length - before + " bytes were added");
            assertEquals(1, renames.get(), "the file was replaced");
            assertEquals(RUNS + 1, Manifest.read(folder).runs().size());
        }
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.OFF))) {
            assertEquals(RUNS + 1, storage.stats().entriesEstimate());
        }
    }

    @Test
    void manifestThatHasBecomeLongIsWrittenAsAWhole() throws IOException {
        // It takes hundreds of flushes, and what survives a loss of power is not asked here.
        Disk unforced = new Disk() {
            @Override
            public void force(FileChannel channel) {
                // The kernel has it, that is enough.
            }

            @Override
            public void forceFolder(Path changed) {
                // As above.
            }
        };
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.OFF), unforced)) {
            int longest = 0;
            for (int i = 0; manifest().length >= longest; i++) {
                longest = manifest().length;
                storage.put(utf8("key" + i % RUNS), utf8("value" + i));
                storage.flush();
                if (i % RUNS == 0) {
                    storage.compact();
                }
            }
            assertEquals(storage.stats().tables(), Manifest.read(folder).runs().stream()
                    .mapToInt(run -> run.tables().size()).sum());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SIZE_TIERED", "LEVELED"})
    void namesTheTablesThatTheStoreHasAfterMerges(String compaction) throws IOException {
        LsmOptions options = options(LsmOptions.Compaction.valueOf(compaction));
        for (int open = 0; open < 3; open++) {
            try (LsmStorage storage = new LsmStorage(folder, options)) {
                for (int i = 0; i < 300; i++) {
                    storage.put(utf8("key" + (i * 31 + open) % 400), utf8("value" + "x".repeat(400)));
                    if (i % 15 == 0) {
                        storage.flush();
                    }
                }
            }
            assertEquals(0, Files.list(folder).filter(file -> file.toString().endsWith(".log")).count());
        }
        try (LsmStorage storage = new LsmStorage(folder, options)) {
            for (int i = 0; i < 300; i++) {
                assertNotNull(storage.get(utf8("key" + (i * 31) % 400)), "key of write " + i);
            }
        }
    }

    @Test
    void lastChangeIsIgnoredIfItIsCutAndRefusedIfItIsDamagedBelowTheMark() throws IOException {
        byte[] before;
        byte[] after;
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Compaction.OFF))) {
            flushRuns(storage, 3);
            before = manifest();
            storage.put(utf8("last"), utf8("1"));
            storage.flush();
            after = manifest();
        }
        Path copy = Files.createDirectories(folder.resolve("copy"));
        Path file = copy.resolve(Manifest.FILE_NAME);
        int mark = after.length - "durable\n".length();
        for (int length = before.length; length <= after.length; length++) {
            Files.write(file, Arrays.copyOf(after, length));
            assertEquals(length < mark ? 3 : 4, Manifest.read(copy).runs().size(), "at " + length);
        }
        for (int at = 0; at < after.length; at++) {
            byte[] bad = after.clone();
            bad[at] ^= 1;
            Files.write(file, bad);
            if (at < mark) {
                assertThrows(CorruptionException.class, () -> Manifest.read(copy), "the byte at " + at);
            } else {
                // What is damaged is the mark.
                assertEquals(4, Manifest.read(copy).runs().size());
            }
        }
        assertTrue(new String(after, StandardCharsets.US_ASCII).endsWith("durable\n"));
    }

    @Test
    void changeThatCannotBeWrittenIsTakenBack() throws IOException {
        FullDisk disk = new FullDisk();
        Path killed = folder.resolve("killed");
        Path store = folder.resolve("store");
        try (LsmStorage storage = new LsmStorage(store, options(LsmOptions.Compaction.OFF), disk)) {
            flushRuns(storage, 3);
            storage.put(utf8("last"), utf8("1"));
            disk.fill("MANIFEST.tmp", 20);
            assertThrows(StorageException.class, storage::flush);
            CrashedCopy.take(store, killed);
            disk.makeRoom();
            storage.flush();
        }
        for (Path left : new Path[] {killed, store}) {
            try (LsmStorage storage = new LsmStorage(left, options(LsmOptions.Compaction.OFF))) {
                assertNotNull(storage.get(utf8("last")));
                assertEquals(4, storage.stats().entriesEstimate());
            }
        }
    }

    @Test
    void changeThatCannotBeForcedKeepsWhatItReplaces() throws IOException {
        FullDisk disk = new FullDisk();
        Path store = folder.resolve("store");
        try (LsmStorage storage = new LsmStorage(store, options(LsmOptions.Compaction.OFF), disk)) {
            flushRuns(storage, 3);
            byte[] before = Files.readAllBytes(store.resolve(Manifest.FILE_NAME));
            disk.fill("MANIFEST.tmp", Long.MAX_VALUE);
            disk.failToForce(true);
            storage.compact();
            assertEquals(1, storage.stats().tables());
            disk.failToForce(false);
            // As a loss of power may leave it.
            Path left = folder.resolve("left");
            CrashedCopy.take(store, left);
            Files.write(left.resolve(Manifest.FILE_NAME), before);
            try (LsmStorage old = new LsmStorage(left, options(LsmOptions.Compaction.OFF))) {
                assertEquals(3, old.stats().tables());
            }
            storage.put(utf8("since"), utf8("1"));
            storage.flush();
        }
        try (LsmStorage storage = new LsmStorage(store, options(LsmOptions.Compaction.OFF))) {
            assertEquals(4, storage.stats().entriesEstimate());
            assertEquals(2, storage.stats().tables());
        }
    }
}
