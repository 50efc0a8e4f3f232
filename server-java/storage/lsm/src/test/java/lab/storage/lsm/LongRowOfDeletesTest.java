package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import lab.storage.SnapshotExpiredException;
import lab.storage.lsm.memory.NativeMemory;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.table.GatedTable;
import lab.storage.lsm.table.Keys;
import lab.storage.lsm.table.Run;
import org.junit.jupiter.api.Test;

/** A range that passes a long row of deletes holds nobody up who wants its memtables back. */
class LongRowOfDeletesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final long THRESHOLD_BYTES = 1 << 20;

    @Test
    void memtablesAreTakenBackWhileTheRangePassesDeletes() throws Exception {
        Memtable memtable = new Memtable(NativeMemory.reserve(Memtable.capacity(THRESHOLD_BYTES, 1_000, 1_000),
                THRESHOLD_BYTES), THRESHOLD_BYTES, 0, ended -> ended.end().free());
        byte[] key = "zzz".getBytes(StandardCharsets.UTF_8);
        memtable.put(key, Keys.hash(key, key.length), utf8("value"), 1);
        GatedTable table = new GatedTable();
        View view = new View(memtable, null, HeldRuns.first(List.of(new Run(0, List.of(table)))));
        CountDownLatch closed = new CountDownLatch(1);
        SnapshotCursor cursor = new SnapshotCursor(view, null, null, false, 1, ended -> closed.countDown());
        assertEquals(List.of(memtable), cursor.memtables());
        try (ExecutorService reader = Executors.newSingleThreadExecutor()) {
            Future<Boolean> moved = reader.submit(cursor::next);
            table.reached.await();
            Thread expiring = Thread.ofVirtual().start(cursor::expire);
            try {
                assertTrue(expiring.join(PATIENCE), "it waits for the range");
                assertEquals(List.of(), cursor.memtables());
            } finally {
                table.gate.countDown();
            }
            ExecutionException cut = assertThrows(ExecutionException.class, moved::get);
            assertInstanceOf(SnapshotExpiredException.class, cut.getCause());
        }
        cursor.close();
        closed.await();
    }
}
