package lab.storage.lsm.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.StorageException;
import lab.storage.lsm.LsmOptions;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import org.junit.jupiter.api.Test;

/** A table whose move to another level could not be recorded is held by nobody for that. */
class FailedMoveTest {

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
    private record Unchangeable(List<Run> runs, CountDownLatch failed) implements Compactor.Target {

        @Override
        public Compactor.Hold hold() {
            runs.forEach(run -> run.tables().forEach(Table::retain));
            return new Compactor.Hold(runs, () -> runs.forEach(run -> run.tables().forEach(Table::release)));
        }

        @Override
        public void compacted(CompactionPlan plan, List<Table> merged, List<List<Table>> rests)
                throws IOException {
            throw new IOException("the manifest cannot be written");
        }

        @Override
        public void failed(StorageException failure) {
            failed.countDown();
        }
    }

    @Test
    void givesTheTableBack() throws IOException, URISyntaxException, InterruptedException {
        Path file = Path.of(FailedMoveTest.class.getResource("/first_log/000003.table").toURI());
        AtomicInteger disposed = new AtomicInteger();
        Table table = Table.open(3, file, Disk.REAL, task -> {
            task.run();
            disposed.incrementAndGet();
        }, false);
        CountDownLatch failed = new CountDownLatch(1);
        try (Compactor compactor = new Compactor(new Unchangeable(List.of(new Run(0, List.of(table))), failed), null,
                LsmOptions.defaults(), new Moving())) {
            compactor.start();
            failed.await();
        }
        assertEquals(0, disposed.get());
        table.release();
        assertEquals(1, disposed.get(), "somebody holds the table although its move failed");
    }
}
