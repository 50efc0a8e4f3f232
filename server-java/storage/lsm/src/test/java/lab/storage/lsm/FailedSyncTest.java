package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import lab.storage.StorageException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A disk that cannot force files for a while costs writers an error, the machine no thread, and nobody a write. */
class FailedSyncTest {

    private static final int WRITERS = 8;
    private static final int FAILED_WRITES = 25;

    @TempDir
    private Path folder;

    /** Fails to force files whose names end so. */
    private static final class FailingDisk extends Disk {

        private final Map<FileChannel, String> names = new WeakHashMap<>();
        private volatile String suffix = "none";

        @Override
        public synchronized FileChannel create(Path file) throws IOException {
            FileChannel channel = super.create(file);
            names.put(channel, file.toString().replace(".tmp", ""));
            return channel;
        }

        @Override
        public void force(FileChannel channel) throws IOException {
            synchronized (this) {
                if (names.getOrDefault(channel, "").endsWith(suffix)) {
                    throw new IOException("Input/output error");
                }
            }
            super.force(channel);
        }
    }

    private static LsmOptions options(LsmOptions.Wal wal) {
        return LsmOptions.builder().flushThresholdBytes(64 * 1024).compaction(LsmOptions.Compaction.OFF).wal(wal)
                .maxKeyBytes(100).maxValueBytes(1_000).build();
    }

    private static Map<String, Long> storeThreads() {
        return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).filter(name -> name.startsWith("lsm"))
                .collect(Collectors.groupingBy(name -> name, Collectors.counting()));
    }

    @Test
    void failedWritesStartNoThreads() throws Exception {
        FailingDisk disk = new FailingDisk();
        AtomicInteger mostThreads = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Wal.SYNC), disk)) {
            int before = storeThreads().values().stream().mapToInt(Long::intValue).sum();
            disk.suffix = "";
            List<Thread> writers = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                String key = "writer" + writer;
                writers.add(Thread.ofPlatform().start(() -> {
                    for (int i = 0; i < FAILED_WRITES; i++) {
                        try {
                            storage.put(utf8(key), utf8("value"));
                        } catch (StorageException e) {
                            failed.incrementAndGet();
                        }
                        int threads = storeThreads().values().stream().mapToInt(Long::intValue).sum();
                        mostThreads.accumulateAndGet(threads, Math::max);
                    }
                }));
            }
            for (Thread writer : writers) {
                writer.join();
            }
            assertEquals(WRITERS * FAILED_WRITES, failed.get());
            assertEquals(before, mostThreads.get(), "threads of the store");
            disk.suffix = "none";
            for (boolean taken = false; !taken; ) {
                try {
                    storage.put(utf8("after"), utf8("value"));
                    taken = true;
                } catch (StorageException e) {
                    Thread.sleep(10);
                }
            }
        }
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Wal.SYNC))) {
            assertNotNull(storage.get(utf8("after")));
        }
    }

    @ParameterizedTest
    @EnumSource(LsmOptions.Wal.class)
    void flushFailsWhoseManifestIsNotForced(LsmOptions.Wal wal) {
        FailingDisk disk = new FailingDisk();
        try (LsmStorage storage = new LsmStorage(folder, options(wal), disk)) {
            for (int round = 0; round < 3; round++) {
                storage.put(utf8("key" + round), utf8("value"));
                disk.suffix = "MANIFEST";
                StorageException failed = assertThrows(StorageException.class, storage::flush);
                assertTrue(failed.getMessage().contains("Repair the disk"), failed.getMessage());
                assertNotNull(storage.get(utf8("key" + round)));
                disk.suffix = "none";
                storage.flush();
            }
        }
    }

    /** The write is in a table and in no log any more, but the manifest may lose the table with the power. */
    @ParameterizedTest
    @EnumSource(value = LsmOptions.Wal.class, names = {"SYNC", "BUFFERED"})
    void nothingThatWasAcknowledgedIsLostWithAManifestThatCouldNotBeForced(LsmOptions.Wal wal) throws IOException {
        for (int seed = 0; seed < 20; seed++) {
            Path store = Files.createDirectories(folder.resolve("store" + seed));
            PowerLossDisk disk = new PowerLossDisk(store, false);
            Path left = folder.resolve("left" + seed);
            try (LsmStorage storage = new LsmStorage(store, options(wal), disk)) {
                storage.put(utf8("key"), utf8("value"));
                disk.failToForce("MANIFEST");
                boolean flushed = true;
                try {
                    storage.flush();
                } catch (StorageException e) {
                    flushed = false;
                }
                disk.losePower(left, new SplittableRandom(seed));
                disk.failToForce("none");
                if (flushed || wal == LsmOptions.Wal.SYNC) {
                    try (LsmStorage after = new LsmStorage(left, options(wal))) {
                        assertNotNull(after.get(utf8("key")), "seed " + seed);
                    }
                }
            }
        }
    }
}
