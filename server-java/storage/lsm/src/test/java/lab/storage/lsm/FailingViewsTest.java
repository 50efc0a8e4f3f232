package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A change that the manifest has and the view has not, for lack of memory between the two, loses nothing. */
class FailingViewsTest {

    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(1 << 20)
            .compaction(LsmOptions.Compaction.OFF).build();
    private static final int RUNS = 3;

    @TempDir
    private Path folder;

    private final AtomicInteger failures = new AtomicInteger();

    private View make(Memtable active, List<Memtable> frozen, PinnedRuns held) {
        // A freeze has a frozen memtable; what comes after a commit has none.
        if (frozen.isEmpty() && failures.get() > 0) {
            failures.decrementAndGet();
            throw new OutOfMemoryError("injected");
        }
        return new View(active, frozen, held);
    }

    private LsmStorage open() {
        return new LsmStorage(folder, OPTIONS, Disk.REAL, this::make);
    }

    private static void fill(LsmStorage storage) {
        for (int run = 0; run < RUNS; run++) {
            storage.put(utf8("key" + run), utf8("value"));
            storage.flush();
        }
    }

    private static void readAll(LsmStorage storage, int count) {
        for (int i = 0; i < count; i++) {
            assertNotNull(storage.get(utf8("key" + i)), "the write " + i + " is lost");
        }
    }

    @Test
    void tablesThatALaterFlushNamesAgainAreKept() {
        try (LsmStorage storage = open()) {
            fill(storage);
            failures.set(1);
            assertThrows(OutOfMemoryError.class, storage::compact);
            storage.put(utf8("key" + RUNS), utf8("value"));
            storage.flush();
            readAll(storage, RUNS + 1);
        }
        try (LsmStorage storage = open()) {
            readAll(storage, RUNS + 1);
        }
    }

    @Test
    void tablesThatTheManifestNamesAlreadyAreKept() throws IOException {
        Path crashed = folder.resolveSibling(folder.getFileName() + "-crashed");
        try (LsmStorage storage = open()) {
            fill(storage);
            failures.set(1);
            assertThrows(OutOfMemoryError.class, storage::compact);
            CrashedCopy.take(folder, crashed);
            storage.compact();
            assertEquals(1, storage.stats().tables());
            readAll(storage, RUNS);
        }
        try (LsmStorage storage = new LsmStorage(crashed, OPTIONS)) {
            assertEquals(1, storage.stats().tables(), "the manifest had the merged table");
            readAll(storage, RUNS);
        }
    }

    @Test
    void flushIsDoneAgain() {
        try (LsmStorage storage = open()) {
            fill(storage);
            storage.put(utf8("key" + RUNS), utf8("value"));
            failures.set(1);
            assertThrows(lab.storage.StorageException.class, storage::flush);
            storage.flush();
            readAll(storage, RUNS + 1);
        }
        try (LsmStorage storage = open()) {
            readAll(storage, RUNS + 1);
        }
    }
}
