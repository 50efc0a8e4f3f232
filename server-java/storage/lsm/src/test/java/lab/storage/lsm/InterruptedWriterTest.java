package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A writer that is interrupted closes the channel that it uses; the log is not lost to the others for that. */
class InterruptedWriterTest {

    private static final int WRITES = 300;
    private static final byte[] VALUE = new byte[2_000];

    @TempDir
    private Path folder;

    private static LsmOptions options(LsmOptions.Wal wal) {
        return LsmOptions.builder().wal(wal).compaction(LsmOptions.Compaction.OFF).maxKeyBytes(100).maxValueBytes(5_000)
                .build();
    }

    @ParameterizedTest
    @EnumSource(value = LsmOptions.Wal.class, names = {"BUFFERED", "SYNC"})
    void writesOfAnInterruptedThreadAndOfTheOthersAreTaken(LsmOptions.Wal wal) {
        try (LsmStorage storage = new LsmStorage(folder, options(wal))) {
            for (int i = 0; i < WRITES; i++) {
                Thread.currentThread().interrupt();
                storage.put(utf8("key" + i), MemorySegment.ofArray(VALUE));
                assertTrue(Thread.interrupted(), "the interrupt is kept for the caller");
                storage.put(utf8("other" + i), MemorySegment.ofArray(VALUE));
            }
            for (int i = 0; i < WRITES; i++) {
                assertNotNull(storage.get(utf8("key" + i)));
            }
        }
        try (LsmStorage storage = new LsmStorage(folder, options(wal))) {
            for (int i = 0; i < WRITES; i++) {
                assertNotNull(storage.get(utf8("key" + i)), "write " + i);
                assertNotNull(storage.get(utf8("other" + i)), "other write " + i);
            }
        }
    }

    /** A disk that interrupts a thread while it forces a file. */
    private static final class InterruptingDisk extends Disk {
        private final CountDownLatch forcing = new CountDownLatch(1);
        private final CountDownLatch interrupted = new CountDownLatch(1);
        private volatile boolean armed;

        @Override
        public void force(FileChannel channel) throws IOException {
            if (armed) {
                armed = false;
                forcing.countDown();
                try {
                    interrupted.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            super.force(channel);
        }
    }

    @Test
    void interruptDuringASyncTakesNothingFromTheOthers() throws Exception {
        InterruptingDisk disk = new InterruptingDisk();
        try (LsmStorage storage = new LsmStorage(folder, options(LsmOptions.Wal.SYNC), disk);
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            disk.armed = true;
            Thread writer = Thread.ofPlatform().start(() -> storage.put(utf8("first"), utf8("1")));
            disk.forcing.await();
            Future<?> second = other.submit(() -> storage.put(utf8("second"), utf8("2")));
            writer.interrupt();
            disk.interrupted.countDown();
            writer.join();
            second.get();
            assertNotNull(storage.get(utf8("first")));
            assertNotNull(storage.get(utf8("second")));
        }
    }
}
