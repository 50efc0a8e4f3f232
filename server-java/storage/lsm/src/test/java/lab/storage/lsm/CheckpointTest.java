package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.Batch;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.StorageException;
import lab.storage.lsm.disk.Disk;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A checkpoint is the store at one moment, whole or not there, and neither store disturbs the other. */
class CheckpointTest {

    private static final int KEYS = 50;
    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(64 * 1024)
            .compaction(LsmOptions.Compaction.SIZE_TIERED).maxTableBytes(20_000).maxKeyBytes(100).maxValueBytes(1_000)
            .build();

    @TempDir
    private Path folder;

    /** A write, of which the number of the last one is kept with it. */
    private static void write(LsmStorage storage, int number) {
        storage.write(new Batch().put(utf8("key" + number % KEYS), utf8(number + "x".repeat(number % 300)))
                .put(utf8("last"), utf8(Integer.toString(number))));
    }

    private static Map<String, String> state(int writes) {
        Map<String, String> state = new TreeMap<>();
        for (int number = Math.max(1, writes - KEYS + 1); number <= writes; number++) {
            state.put("key" + number % KEYS, number + "x".repeat(number % 300));
            state.put("last", Integer.toString(number));
        }
        return state;
    }

    private static Map<String, String> read(LsmStorage storage) {
        Map<String, String> shown = new TreeMap<>();
        try (Cursor cursor = storage.range(null, null)) {
            while (cursor.next()) {
                shown.put(Bytes.text(cursor.key()), Bytes.text(cursor.value()));
            }
        }
        return shown;
    }

    @Test
    void isTheStoreAtOneMomentWhileWritersGoOn() throws Exception {
        AtomicInteger written = new AtomicInteger();
        AtomicBoolean done = new AtomicBoolean();
        int[] shown = new int[8];
        try (LsmStorage storage = new LsmStorage(folder.resolve("store"), OPTIONS)) {
            Thread writer = Thread.ofPlatform().start(() -> {
                while (!done.get()) {
                    write(storage, written.get() + 1);
                    written.incrementAndGet();
                }
            });
            try {
                for (int i = 0; i < shown.length; i++) {
                    int before = written.get();
                    while (written.get() < before + 500) {
                        Thread.onSpinWait();
                    }
                    int atLeast = written.get();
                    storage.checkpoint(folder.resolve("checkpoint" + i));
                    try (LsmStorage checkpoint = new LsmStorage(folder.resolve("checkpoint" + i), OPTIONS)) {
                        Map<String, String> found = read(checkpoint);
                        shown[i] = Integer.parseInt(found.get("last"));
                        assertTrue(shown[i] >= atLeast, shown[i] + " of " + atLeast + " writes");
                        assertEquals(state(shown[i]), found);
                    }
                }
            } finally {
                done.set(true);
                writer.join();
            }
            storage.compact();
            assertEquals(state(written.get()), read(storage));
        }
        for (int i = 0; i < shown.length; i++) {
            try (LsmStorage checkpoint = new LsmStorage(folder.resolve("checkpoint" + i), OPTIONS)) {
                assertEquals(state(shown[i]), read(checkpoint), "the store has changed its checkpoint");
                checkpoint.put(utf8("last"), utf8("changed"));
                checkpoint.compact();
            }
        }
        try (LsmStorage storage = new LsmStorage(folder.resolve("store"), OPTIONS)) {
            assertEquals(state(written.get()), read(storage), "a checkpoint has changed its store");
        }
    }

    @Test
    void sharesTheFilesOfTheStore() throws IOException {
        Path target = folder.resolve("deep/er/checkpoint");
        try (LsmStorage storage = new LsmStorage(folder.resolve("store"), OPTIONS)) {
            write(storage, 1);
            storage.checkpoint(target);
            try (var tables = Files.newDirectoryStream(target, "*.table")) {
                for (Path table : tables) {
                    assertTrue(Files.isSameFile(table, folder.resolve("store").resolve(table.getFileName())));
                }
            }
        }
    }

    @Test
    void emptyStoreHasAnEmptyCheckpoint() throws IOException {
        Files.createDirectory(folder.resolve("checkpoint"));
        try (LsmStorage storage = new LsmStorage(folder.resolve("store"), OPTIONS)) {
            storage.checkpoint(folder.resolve("checkpoint"));
        }
        try (LsmStorage checkpoint = new LsmStorage(folder.resolve("checkpoint"), OPTIONS)) {
            assertEquals(Map.of(), read(checkpoint));
        }
    }

    @Test
    void folderThatIsInUseIsRefusedAndLeftAlone() throws IOException {
        Path mine = Files.createDirectory(folder.resolve("checkpoint")).resolve("mine");
        Files.writeString(mine, "text");
        try (LsmStorage storage = new LsmStorage(folder.resolve("store"), OPTIONS)) {
            write(storage, 1);
            StorageException refused = assertThrows(StorageException.class, () -> storage.checkpoint(mine.getParent()));
            assertTrue(refused.getMessage().contains("missing or empty"), refused.getMessage());
            assertThrows(StorageException.class, () -> storage.checkpoint(mine));
            assertEquals("text", Files.readString(mine));
        }
    }

    @Test
    void checkpointThatFailsAtAnyStepIsNotThere() throws IOException {
        FailingDisk disk = new FailingDisk();
        Path target = folder.resolve("checkpoint");
        try (LsmStorage storage = new LsmStorage(folder.resolve("store"), OPTIONS.toBuilder()
                .compaction(LsmOptions.Compaction.OFF).build(), disk)) {
            for (int number = 1; number <= 1_000; number++) {
                write(storage, number);
            }
            storage.flush();
            int failures = 0;
            while (true) {
                disk.operationsLeft = failures;
                try {
                    storage.checkpoint(target);
                    break;
                } catch (StorageException e) {
                    failures++;
                    assertFalse(Files.exists(target.resolveSibling("checkpoint.part")), "a part is left");
                    if (Files.exists(target)) {
                        // Only the name of the folder was not forced.
                        break;
                    }
                }
            }
            disk.operationsLeft = Integer.MAX_VALUE;
            assertTrue(failures > 5, "only " + failures + " steps");
            assertEquals(state(1_000), read(storage));
        }
        try (LsmStorage checkpoint = new LsmStorage(target, OPTIONS)) {
            assertEquals(state(1_000), read(checkpoint));
        }
    }

    /** A disk that fails once, after so many operations on files of a checkpoint. */
    private static final class FailingDisk extends Disk {

        private int operationsLeft = Integer.MAX_VALUE;

        private void count() throws IOException {
            if (operationsLeft-- == 0) {
                throw new IOException("Input/output error");
            }
        }

        private static boolean isOfCheckpoint(Path file) {
            return file.toString().contains("checkpoint");
        }

        @Override
        public FileChannel create(Path file) throws IOException {
            if (isOfCheckpoint(file)) {
                count();
            }
            return super.create(file);
        }

        @Override
        public void link(Path file, Path name) throws IOException {
            count();
            super.link(file, name);
        }

        @Override
        public void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
            super.write(channel, bytes, position);
        }

        @Override
        public void forceFolder(Path folder) throws IOException {
            if (operationsLeft < Integer.MAX_VALUE) {
                count();
            }
            super.forceFolder(folder);
        }

        @Override
        public void rename(Path from, Path to) throws IOException {
            if (isOfCheckpoint(to)) {
                count();
            }
            super.rename(from, to);
        }
    }
}
