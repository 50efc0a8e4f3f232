package lab.storage.conformance;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What every engine that stores something must do when several threads use it. */
public abstract class ConcurrencyConformance {

    private static final int WRITERS = 4;

    /** Folder of the store under test. */
    @TempDir
    protected Path folder;

    /** Opens the engine in a folder, with memtables so small that flushes happen all the time. */
    protected abstract Storage open(Path folder);

    /** Writes of each thread; fewer for an engine that takes long for one. */
    protected int writesEach() {
        return 5_000;
    }

    @Test
    void noWriteIsLostUnderConcurrentWriters() throws Exception {
        try (Storage storage = open(folder)) {
            together(writer -> {
                for (int i = 0; i < writesEach(); i++) {
                    storage.put(utf8("writer" + writer + "/" + i), utf8("value" + i));
                    if (i % 3 == 0) {
                        storage.delete(utf8("writer" + writer + "/" + i));
                    }
                }
            });
            for (int writer = 0; writer < WRITERS; writer++) {
                for (int i = 0; i < writesEach(); i++) {
                    byte[] value = storage.get(utf8("writer" + writer + "/" + i));
                    assertEquals(i % 3 == 0 ? null : "value" + i,
                            value == null ? null : Bytes.text(MemorySegment.ofArray(value)));
                }
            }
        }
    }

    @Test
    void lastWriteOfEachThreadIsWhatItReads() throws Exception {
        try (Storage storage = open(folder)) {
            together(writer -> {
                for (int i = 0; i < writesEach(); i++) {
                    storage.put(utf8("hot" + writer), utf8(Integer.toString(i)));
                    assertEquals(Integer.toString(i), text(storage, "hot" + writer));
                }
            });
        }
    }

    /** A writer raises x, then y, again and again. So in each snapshot x is y or one more. */
    @Test
    void snapshotIsOneMomentForAllKeys() throws Exception {
        try (Storage storage = open(folder)) {
            AtomicBoolean done = new AtomicBoolean();
            together(thread -> {
                if (thread == 0) {
                    for (int i = 1; i <= writesEach(); i++) {
                        storage.put(utf8("x"), utf8(Integer.toString(i)));
                        storage.put(utf8("y"), utf8(Integer.toString(i)));
                    }
                    done.set(true);
                    return;
                }
                while (!done.get()) {
                    int x = 0;
                    int y = 0;
                    try (Cursor cursor = storage.range(null, null)) {
                        while (cursor.next()) {
                            int value = Integer.parseInt(Bytes.text(cursor.value()));
                            if (Bytes.text(cursor.key()).equals("x")) {
                                x = value;
                            } else {
                                y = value;
                            }
                        }
                    }
                    assertTrue(x == y || x == y + 1, "x is " + x + ", y is " + y);
                }
            });
        }
    }

    private static String text(byte[] value) {
        return value == null ? null : Bytes.text(MemorySegment.ofArray(value));
    }

    private static String text(Storage storage, String key) {
        return text(storage.get(utf8(key)));
    }

    /** Work of one of the threads. */
    protected interface Work {
        /** Does the work of the thread with this number. */
        void run(int thread) throws Exception;
    }

    /** Runs work on several threads and fails if one of them failed. */
    protected static void together(Work work) throws InterruptedException, ExecutionException {
        try (ExecutorService threads = Executors.newFixedThreadPool(WRITERS)) {
            List<Future<?>> results = new ArrayList<>();
            for (int thread = 0; thread < WRITERS; thread++) {
                int number = thread;
                results.add(threads.submit(() -> {
                    work.run(number);
                    return null;
                }));
            }
            for (Future<?> result : results) {
                result.get();
            }
        }
    }
}
