package lab.storage.lsm.compaction;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.StorageException;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A move to another level that could not be recorded holds no table, and is tried ever later, whoever asks for it. */
class FailedMoveTest {

    @TempDir
    private Path folder;

    /** A policy that moves the only table to level 1. */
    private static final class Moving implements CompactionPolicy {

        @Override
        public CompactionPlan next(List<Run> runs, Set<Table> busy) {
            return new CompactionPlan(runs, 1, false);
        }

        @Override
        public int slowRuns() {
            return 1;
        }

        @Override
        public int mostRuns() {
            return 1;
        }
    }

    /** A store of one table, whose changes cannot be recorded. */
    private record Unchangeable(List<Run> runs, CountDownLatch failed, AtomicInteger tries) implements Compactor.Target {

        @Override
        public Compactor.Pin pin() {
            runs.forEach(run -> run.tables().forEach(Table::retain));
            return new Compactor.Pin(runs, () -> runs.forEach(run -> run.tables().forEach(Table::release)));
        }

        @Override
        public void compacted(CompactionPlan plan, List<Table> merged, List<List<Table>> rests)
                throws IOException {
            tries.incrementAndGet();
            throw new IOException("the manifest cannot be written");
        }

        @Override
        public void failed(StorageException failure) {
            failed.countDown();
        }
    }

    private Table table(AtomicInteger disposed) throws IOException {
        try (LsmStorage storage = new LsmStorage(folder, LsmOptions.defaults())) {
            storage.put(utf8("key"), utf8("value"));
            storage.flush();
        }
        Path file;
        try (var files = Files.list(folder)) {
            file = files.filter(path -> path.toString().endsWith(".table")).findFirst().orElseThrow();
        }
        return Table.open(3, file, Disk.REAL, task -> {
            task.run();
            disposed.incrementAndGet();
        }, false);
    }

    private static Compactor compactor(Unchangeable store) {
        return new Compactor(store, null, LsmOptions.defaults(), new Moving());
    }

    private static Unchangeable store(Table table) {
        return new Unchangeable(List.of(new Run(0, List.of(table))), new CountDownLatch(1), new AtomicInteger());
    }

    /** A pause that only grows longer on a slow machine, so that there are fewer tries, never more. */
    @Test
    void isTriedEverLaterWhoeverAsksForIt() throws IOException, InterruptedException {
        Table table = table(new AtomicInteger());
        Unchangeable store = store(table);
        long from = System.nanoTime();
        try (Compactor compactor = compactor(store)) {
            compactor.start();
            store.failed.await();
            for (int flush = 0; flush < 300; flush++) {
                compactor.wake();
                Thread.sleep(1);
            }
        }
        // Each of the two threads tries at once, and again after 1, 2, 4 ... seconds.
        long most = 2 * (1 + (System.nanoTime() - from) / 1_000_000_000L);
        assertTrue(store.tries.get() <= most, store.tries + " tries, at most " + most + " were due");
        table.release();
    }

    @Test
    void givesTheTableBack() throws IOException, InterruptedException {
        AtomicInteger disposed = new AtomicInteger();
        Table table = table(disposed);
        Unchangeable store = store(table);
        try (Compactor compactor = compactor(store)) {
            compactor.start();
            store.failed.await();
        }
        assertEquals(0, disposed.get());
        table.release();
        assertEquals(1, disposed.get(), "somebody holds the table although its move failed");
    }
}
