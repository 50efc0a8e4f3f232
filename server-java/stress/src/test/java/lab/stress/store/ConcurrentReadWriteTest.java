package lab.stress.store;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.SnapshotExpiredException;
import lab.storage.conformance.Length;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Reads under concurrent writes, flushes and merges see a value that is not older than the last write that was done when
 * the read began, and not newer than the last one begun when it ended. Each key has one writer, which counts upwards.
 */
class ConcurrentReadWriteTest {

    private static final int KEYS = 400;
    private static final int WRITERS = 2;
    private static final int READERS = 2;
    private static final int SHORT_SECONDS = 1;
    private static final int LONG_SECONDS = 60;
    private static final long SECOND_NS = 1_000_000_000L;

    @TempDir
    private Path folder;

    private final AtomicLongArray begun = new AtomicLongArray(KEYS);
    private final AtomicLongArray done = new AtomicLongArray(KEYS);

    private static MemorySegment key(int number) {
        return utf8(String.format("key%04d", number));
    }

    private static long number(MemorySegment value) {
        return Long.parseLong(Bytes.text(value).strip());
    }

    @ParameterizedTest
    @EnumSource(value = LsmOptions.Compaction.class, names = {"SIZE_TIERED", "LEVELED"})
    void readsAreNeitherTooOldNorTooNew(LsmOptions.Compaction compaction) throws Exception {
        long end = System.nanoTime() + Length.of(SHORT_SECONDS, LONG_SECONDS) * SECOND_NS;
        boolean leveled = compaction == LsmOptions.Compaction.LEVELED;
        LsmOptions options = LsmOptions.builder().flushThresholdBytes(128 * 1024).compaction(compaction)
                .maxKeyBytes(100).maxValueBytes(2_000).maxTableBytes(100_000)
                .compression(leveled ? Compression.LZ4 : Compression.NONE).cacheBytes(leveled ? 100_000 : 0).build();
        long reads = 0;
        try (LsmStorage storage = new LsmStorage(folder, options);
                ExecutorService threads = Executors.newFixedThreadPool(WRITERS + READERS + 1)) {
            List<Future<Long>> results = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                int number = writer;
                results.add(threads.submit(() -> write(storage, number, end)));
            }
            for (int reader = 0; reader < READERS; reader++) {
                int number = reader;
                results.add(threads.submit(() -> read(storage, number, end)));
            }
            results.add(threads.submit(() -> walk(storage, end)));
            for (Future<Long> result : results) {
                reads += result.get();
            }
            for (int i = 0; i < KEYS; i++) {
                check(storage, i);
            }
        }
        assertTrue(reads > 0);
        System.out.println(compaction + ": " + reads + " reads under " + WRITERS + " writers, none too old or too new");
    }

    private long write(LsmStorage storage, int writer, long end) {
        SplittableRandom random = new SplittableRandom(writer);
        String padding = " ".repeat(300);
        while (System.nanoTime() < end) {
            int key = random.nextInt(KEYS / WRITERS) * WRITERS + writer;
            long next = begun.incrementAndGet(key);
            if (next % 5 == 0) {
                storage.delete(key(key));
            } else {
                storage.put(key(key), utf8(next + padding));
            }
            done.set(key, next);
            if (random.nextInt(20_000) == 0) {
                storage.compact();
            }
        }
        return 0;
    }

    private long read(LsmStorage storage, int reader, long end) {
        SplittableRandom random = new SplittableRandom(100 + reader);
        long reads = 0;
        for (; System.nanoTime() < end; reads++) {
            check(storage, random.nextInt(KEYS));
        }
        return reads;
    }

    /** A deleted key shows nothing, so what was read must only leave a delete between the bounds. */
    private void check(LsmStorage storage, int key) {
        long oldest = done.get(key);
        byte[] value = storage.get(key(key));
        long newest = begun.get(key);
        if (value == null) {
            boolean possible = oldest == 0;
            for (long write = Math.max(oldest, 1); write <= newest && !possible; write++) {
                possible = write % 5 == 0;
            }
            assertTrue(possible, "key " + key + " is missing between " + oldest + " and " + newest);
        } else {
            long shown = number(MemorySegment.ofArray(value));
            assertTrue(shown >= oldest && shown <= newest,
                    "key " + key + " shows " + shown + ", not within " + oldest + " and " + newest);
        }
    }

    private long walk(LsmStorage storage, long end) {
        long read = 0;
        long[] oldest = new long[KEYS];
        while (System.nanoTime() < end) {
            for (int i = 0; i < KEYS; i++) {
                oldest[i] = done.get(i);
            }
            try (Cursor cursor = storage.range(null, null)) {
                while (cursor.next()) {
                    int key = Integer.parseInt(Bytes.text(cursor.key()).substring("key".length()));
                    long shown = number(cursor.value());
                    assertTrue(shown >= oldest[key] && shown <= begun.get(key),
                            "key " + key + " shows " + shown + " in a range, the oldest right one is " + oldest[key]);
                    read++;
                }
            } catch (SnapshotExpiredException e) {
                // This thread was stalled while the writers filled several memtables: nothing was shown.
            }
        }
        return read;
    }
}
