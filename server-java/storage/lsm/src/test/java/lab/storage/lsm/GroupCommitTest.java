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
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.Supplier;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.options.LsmOptions;
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
     * A disk on which a force lasts until the writers that the force before has covered wait with their next put, so that
     * how many puts share a force depends on no speed. A writer that is covered and still not let go would wait for ever;
     * a few may wait for one force more, those that appended before a force and did not wait yet when it woke all others.
     */
    private static final class PatientDisk extends Disk {
        private static final long PATIENCE_NANOS = 1_000_000_000L;
        private static final int MOST_LATE = 10;

        private final AtomicInteger forces = new AtomicInteger();
        /** Puts that each writer has begun. */
        private final AtomicIntegerArray begun = new AtomicIntegerArray(WRITERS);
        /** The same when the force before began and when it ended: all of the first are on disk when it has ended. */
        private int[] covered = new int[WRITERS];
        private int[] appended = new int[WRITERS];
        private volatile Supplier<Object> writes;
        private int late;

        @Override
        public void force(FileChannel channel) throws IOException {
            forces.incrementAndGet();
            if (writes != null) {
                long end = System.nanoTime() + PATIENCE_NANOS;
                int[] now = new int[WRITERS];
                while (!areWaiting(now)) {
                    if (System.nanoTime() > end) {
                        if (++late > MOST_LATE) {
                            throw new IOException("Writers that are on disk still wait.");
                        }
                        break;
                    }
                    Thread.onSpinWait();
                }
                covered = appended;
                appended = now;
            }
            super.force(channel);
        }

        /** Whether all that the force before has covered have put again, and whether all puts that have begun are appended. */
        private boolean areWaiting(int[] now) {
            // Read first: then it is the sum of those below only if none of them was still to be appended.
            int inTheLog = ((Number) writes.get()).intValue();
            int sum = 0;
            boolean areThere = true;
            for (int writer = 0; writer < WRITERS; writer++) {
                now[writer] = begun.get(writer);
                sum += now[writer];
                areThere &= now[writer] > covered[writer] || now[writer] == PUTS;
            }
            return areThere && sum == inTheLog;
        }
    }

    @Test
    void noWriterWaitsForMoreThanTheForceThatFollowsItsOwn() throws Exception {
        PatientDisk disk = new PatientDisk();
        try (LsmStorage storage = new LsmStorage(folder, SYNCED, disk);
                ExecutorService threads = Executors.newFixedThreadPool(WRITERS)) {
            disk.writes = () -> storage.statistics().get("writes");
            int before = disk.forces.get();
            List<Future<?>> writers = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                int number = writer;
                writers.add(threads.submit(() -> {
                    for (int put = 0; put < PUTS; put++) {
                        disk.begun.incrementAndGet(number);
                        storage.put(utf8("writer" + number + "-" + put), utf8("1"));
                    }
                }));
            }
            for (Future<?> writer : writers) {
                writer.get();
            }
            int forces = disk.forces.get() - before;
            // A put is covered by the force under way or by the next one.
            assertTrue(forces <= 2 * PUTS + 1 + 2 * disk.late, forces + " forces for " + WRITERS * PUTS + " puts of " + WRITERS + " writers");
            disk.writes = null;
        }
    }
}
