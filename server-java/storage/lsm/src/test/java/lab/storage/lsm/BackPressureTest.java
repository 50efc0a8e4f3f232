package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Writers that are faster than the disk wait; they get no error, lose nothing, and fill no heap. */
class BackPressureTest {

    private static final int THRESHOLD_BYTES = 64 * 1024;

    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(THRESHOLD_BYTES)
            .compaction(LsmOptions.Compaction.SIZE_TIERED).build();

    @TempDir
    private Path folder;

    @Test
    void floodOfWritersKeepsMemoryBoundedAndLosesNothing() throws Exception {
        int writers = 8;
        int writes = 800;
        byte[] value = new byte[1_000];
        try (Storage storage = new LsmStorage(folder,
                OPTIONS);
                ExecutorService threads = Executors.newFixedThreadPool(writers)) {
            List<Future<Long>> results = new ArrayList<>();
            for (int writer = 0; writer < writers; writer++) {
                String prefix = "writer" + writer + "/";
                results.add(threads.submit(() -> {
                    long most = 0;
                    for (int i = 0; i < writes; i++) {
                        storage.put(utf8(prefix + i), MemorySegment.ofArray(value));
                        most = Math.max(most, storage.stats().memtableBytes());
                    }
                    return most;
                }));
            }
            for (Future<Long> result : results) {
                // As many memtables as there may be, and each writer may have seen room that another one took.
                assertTrue(result.get() <= OPTIONS.memory().memtables() * (THRESHOLD_BYTES + writers * 2_000L), "took " + result.get());
            }
            for (int writer = 0; writer < writers; writer++) {
                for (int i = 0; i < writes; i++) {
                    assertNotNull(storage.get(utf8("writer" + writer + "/" + i)));
                }
            }
        }
    }

    @Test
    void putsGoOnWhileOneMemtableIsWrittenOutForLong() throws Exception {
        GatedDisk disk = new GatedDisk("lsm-flush");
        LsmOptions options = OPTIONS.toBuilder().compaction(LsmOptions.Compaction.OFF).build();
        Path crashed = folder.resolve("crashed");
        // More than two memtables, and less than four.
        int keys = 3 * THRESHOLD_BYTES / 1_100;
        try (LsmStorage storage = new LsmStorage(folder.resolve("live"), options, disk)) {
            try {
                for (int i = 0; i < keys; i++) {
                    storage.put(utf8("key" + i), MemorySegment.ofArray(new byte[1_000]));
                }
                disk.reached.await();
                readAll(storage, keys);
                CrashedCopy.take(folder.resolve("live"), crashed);
            } finally {
                disk.open();
            }
            storage.flush();
            readAll(storage, keys);
        }
        for (Path left : List.of(folder.resolve("live"), crashed)) {
            try (LsmStorage storage = new LsmStorage(left, options)) {
                readAll(storage, keys);
            }
        }
    }

    private static void readAll(LsmStorage storage, int keys) {
        for (int i = 0; i < keys; i++) {
            assertNotNull(storage.get(utf8("key" + i)));
        }
        int shown = 0;
        try (Cursor cursor = storage.range(null, null)) {
            while (cursor.next()) {
                shown++;
            }
        }
        assertEquals(keys, shown);
    }

    @Test
    void valueLargerThanTheThresholdIsStored() {
        try (Storage storage = new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(1)
                .compaction(LsmOptions.Compaction.SIZE_TIERED).build())) {
            for (int i = 0; i < 20; i++) {
                storage.put(utf8("key" + i), MemorySegment.ofArray(new byte[100_000]));
            }
            assertEquals(100_000, storage.get(utf8("key0")).length);
        }
    }

    @Test
    void writersLearnThatTheDiskFailsAndGoOnWhenItIsMended() throws IOException {
        Path data = folder.resolve("data");
        Path elsewhere = folder.resolve("elsewhere");
        try (Storage storage = new LsmStorage(data, LsmOptions.builder().flushThresholdBytes(THRESHOLD_BYTES)
                .compaction(LsmOptions.Compaction.OFF).build())) {
            storage.put(utf8("before"), utf8("1"));
            Files.move(data, elsewhere);
            StorageException reported = Assertions.assertTimeoutPreemptively(Duration.ofSeconds(120),
                    () -> assertThrows(StorageException.class, () -> {
                        for (int i = 0; i < 1_000; i++) {
                            storage.put(utf8("key" + i), MemorySegment.ofArray(new byte[1_000]));
                        }
                    }));
            assertTrue(reported.getMessage().startsWith("The store cannot"), reported.getMessage());
            assertNotNull(storage.get(utf8("key0")), "reads go on");
            Files.move(elsewhere, data);
            Assertions.assertTimeoutPreemptively(Duration.ofSeconds(120), () -> putUntilTaken(storage));
            storage.flush();
            assertNotNull(storage.get(utf8("before")));
            assertNotNull(storage.get(utf8("key0")));
        }
    }

    /** @param puts so many fill less than a memtable, or more than one and less than two */
    @ParameterizedTest
    @CsvSource({"lsm-housekeeping, 1", "lsm-flush, 600"})
    void flushIsNotFailedByAnAttemptThatBeganBeforeIt(String background, int puts) throws Exception {
        FailsOnce disk = new FailsOnce(background);
        try (Storage storage = new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(THRESHOLD_BYTES)
                .compaction(LsmOptions.Compaction.OFF).build(), disk)) {
            try {
                for (int i = 0; i < puts; i++) {
                    storage.put(utf8("key" + i), MemorySegment.ofArray(new byte[100]));
                }
                assertTrue(disk.reached.await(120, TimeUnit.SECONDS));
                FutureTask<Void> flush = new FutureTask<>(storage::flush, null);
                Thread caller = Thread.ofPlatform().daemon().start(flush);
                while (caller.getState() != Thread.State.WAITING && !flush.isDone()) {
                    Thread.sleep(1);
                }
                assertFalse(flush.isDone(), "it waits for the attempt that is under way");
                disk.gate.countDown();
                flush.get(120, TimeUnit.SECONDS);
            } finally {
                disk.gate.countDown();
            }
        }
    }

    /** A disk on which one thread of the background waits as it makes its first file, and then fails to. */
    private static final class FailsOnce extends Disk {

        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch gate = new CountDownLatch(1);
        private final String thread;

        FailsOnce(String thread) {
            this.thread = thread;
        }

        @Override
        public FileChannel create(Path file) throws IOException {
            if (reached.getCount() > 0 && Thread.currentThread().getName().equals(thread)) {
                reached.countDown();
                try {
                    gate.await();
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
                throw new IOException("Input/output error");
            }
            return super.create(file);
        }
    }

    private static void putUntilTaken(Storage storage) throws InterruptedException {
        while (true) {
            try {
                storage.put(utf8("after"), utf8("1"));
                return;
            } catch (StorageException e) {
                Thread.sleep(100);
            }
        }
    }
}
