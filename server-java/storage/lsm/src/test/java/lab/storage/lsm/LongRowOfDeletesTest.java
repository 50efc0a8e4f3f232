package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.Cursor;
import lab.storage.SnapshotExpiredException;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.memory.NativeMemory;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.GatedTable;
import lab.storage.lsm.table.Run;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A range that passes a long row of deletes holds nobody up: neither who wants its memtables back, nor its thread. */
class LongRowOfDeletesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final long THRESHOLD_BYTES = 1 << 20;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void oneStepPassesOneDelete(boolean flushed, @TempDir Path folder) {
        // An idle store would merge the deletes away.
        try (LsmStorage store = new LsmStorage(folder,
                LsmOptions.builder().compaction(LsmOptions.Compaction.OFF).build())) {
            store.put(utf8("first"), utf8("value"));
            for (int key = 0; key < 10; key++) {
                store.delete(utf8("gone" + key));
            }
            store.put(utf8("last"), utf8("value"));
            if (flushed) {
                store.flush();
            }
            List<Cursor.Step> steps = new ArrayList<>();
            try (Cursor cursor = store.range(null, null)) {
                do {
                    steps.add(cursor.step());
                } while (steps.getLast() != Cursor.Step.END);
            }
            List<Cursor.Step> expected = new ArrayList<>(Collections.nCopies(10, Cursor.Step.PASSED));
            expected.addFirst(Cursor.Step.ENTRY);
            expected.addAll(List.of(Cursor.Step.ENTRY, Cursor.Step.END));
            assertEquals(expected, steps);
        }
    }

    @Test
    void memtablesAreTakenBackWhileTheRangePassesDeletes() throws Exception {
        Memtable memtable = new Memtable(NativeMemory.reserve(Memtable.capacity(THRESHOLD_BYTES, 1_000, 1_000),
                THRESHOLD_BYTES, new LongAdder()), THRESHOLD_BYTES, 0, ended -> ended.end().free());
        byte[] key = "zzz".getBytes(StandardCharsets.UTF_8);
        memtable.put(key, Keys.hash(key, key.length), utf8("value"), 1);
        GatedTable table = new GatedTable();
        View view = new View(memtable, List.of(), PinnedRuns.first(List.of(new Run(0, List.of(table)))));
        CountDownLatch closed = new CountDownLatch(1);
        SnapshotCursor cursor = new SnapshotCursor(view, null, null, 1, ended -> closed.countDown());
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
