package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import lab.storage.lsm.disk.Disk;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a synced log nothing is acknowledged or seen before it is on disk, and writers share the wait. */
class GroupCommitTest {

    private static final int WRITERS = 8;
    private static final int PUTS = 100;
    private static final LsmOptions SYNCED = LsmOptions.builder().flushThresholdBytes(8 << 20)
            .compaction(LsmOptions.Compaction.OFF).wal(LsmOptions.Wal.SYNC).maxKeyBytes(100).maxValueBytes(1_000)
            .build();

    @TempDir
    private Path folder;

    /** A disk whose forcing can be held up. */
    private static final class HeldDisk extends Disk {
        private final AtomicInteger forces = new AtomicInteger();
        private final CountDownLatch reached = new CountDownLatch(1);
        private final Semaphore gate = new Semaphore(0);
        private volatile boolean held;

        @Override
        public void force(FileChannel channel) throws IOException {
            forces.incrementAndGet();
            if (held) {
                reached.countDown();
                gate.acquireUninterruptibly();
            }
            super.force(channel);
        }
    }

    @Test
    void writersThatCameMeanwhileShareTheNextForce() throws Exception {
        HeldDisk disk = new HeldDisk();
        try (LsmStorage storage = new LsmStorage(folder, SYNCED, disk);
                ExecutorService threads = Executors.newFixedThreadPool(WRITERS + 1)) {
            disk.held = true;
            Future<?> first = threads.submit(() -> storage.put(utf8("first"), utf8("1")));
            disk.reached.await();
            assertNull(storage.get(utf8("first")), "seen before it is on disk");
            int before = disk.forces.get();
            List<Future<?>> others = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                String key = "writer" + writer;
                others.add(threads.submit(() -> storage.put(utf8(key), utf8("1"))));
            }
            while (((Number) storage.statistics().get("writes")).intValue() < WRITERS + 1) {
                Thread.onSpinWait();
            }
            disk.held = false;
            disk.gate.release();
            first.get();
            for (Future<?> other : others) {
                other.get();
            }
            assertEquals(1, disk.forces.get() - before, "one force for all that waited");
            assertNotNull(storage.get(utf8("first")));
            assertNotNull(storage.get(utf8("writer" + (WRITERS - 1))));
            assertTrue(((Number) storage.statistics().get("synced_writes")).intValue() == WRITERS + 1);
        }
    }

    /**
     * A disk on which a force lasts until every writer waits for one, so that how many puts share a force depends on no
     * speed: a writer that is covered by a force and still not let go holds up the puts that could share the next one.
     */
    private static final class PatientDisk extends Disk {
        private final AtomicInteger forces = new AtomicInteger();
        private volatile BooleanSupplier allWait = () -> true;

        @Override
        public void force(FileChannel channel) throws IOException {
            forces.incrementAndGet();
            while (!allWait.getAsBoolean()) {
                Thread.onSpinWait();
            }
            super.force(channel);
        }
    }

    @Test
    void noWriterWaitsForMoreThanTheForceThatFollowsItsOwn() throws Exception {
        PatientDisk disk = new PatientDisk();
        AtomicInteger acknowledged = new AtomicInteger();
        AtomicInteger writing = new AtomicInteger(WRITERS);
        try (LsmStorage storage = new LsmStorage(folder, SYNCED, disk);
                ExecutorService threads = Executors.newFixedThreadPool(WRITERS)) {
            disk.allWait = () -> ((Number) storage.statistics().get("writes")).intValue() - acknowledged.get()
                    >= writing.get();
            int before = disk.forces.get();
            List<Future<?>> writers = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                String key = "writer" + writer;
                writers.add(threads.submit(() -> {
                    for (int put = 0; put < PUTS; put++) {
                        storage.put(utf8(key + "-" + put), utf8("1"));
                        acknowledged.incrementAndGet();
                    }
                    writing.decrementAndGet();
                }));
            }
            for (Future<?> writer : writers) {
                writer.get();
            }
            int forces = disk.forces.get() - before;
            // A put is covered by the force under way or by the next one.
            assertTrue(forces <= 2 * PUTS + 1, forces + " forces for " + WRITERS * PUTS + " puts of " + WRITERS + " writers");
            disk.allWait = () -> true;
        }
    }
}
