package lab.storage.lsm;

import static lab.storage.Bytes.utf8;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import lab.storage.Cursor;
import lab.storage.SnapshotExpiredException;
import lab.storage.lsm.options.LsmOptions;

/**
 * Fills a store and reads it in a process of its own, with slow readers at the same time, and prints the
 * most memory that was in use.
 *
 * <p>Arguments: folder, megabytes of data, bytes of the budget or 0, bytes of the cache.
 */
public final class SmallHeapStore {

    private static final int VALUE_BYTES = 1_000;
    private static final int READS = 20_000;
    private static final int RANGE = 50;
    private static final int SLOW_READERS = 4;
    private static final int KB = 1024;

    private SmallHeapStore() {
    }

    /** Runs it. */
    public static void main(String[] args) throws IOException, InterruptedException {
        int keys = Integer.parseInt(args[1]) * (1_000_000 / VALUE_BYTES);
        LsmOptions options = LsmOptions.builder().memoryBudgetBytes(Long.parseLong(args[2]))
                .cacheBytes(Long.parseLong(args[3])).build();
        AtomicLong most = new AtomicLong();
        AtomicLong mostResident = new AtomicLong();
        long budget;
        try (LsmStorage storage = new LsmStorage(Path.of(args[0]), options)) {
            budget = number(storage.statistics(), "memory_budget_bytes");
            Thread sampler = Thread.ofPlatform().start(() -> {
                while (!Thread.interrupted()) {
                    most.accumulateAndGet(number(storage.statistics(), "memory_used_bytes"), Math::max);
                    mostResident.accumulateAndGet(residentBytes(), Math::max);
                    Thread.yield();
                }
            });
            fill(storage, keys);
            read(storage, keys);
            sampler.interrupt();
            sampler.join();
        }
        System.out.println(budget + " " + most + " " + mostResident);
    }

    private static void fill(LsmStorage storage, int keys) {
        SplittableRandom random = new SplittableRandom(1);
        byte[] value = new byte[VALUE_BYTES];
        Cursor[] slow = new Cursor[SLOW_READERS];
        for (int i = 0; i < keys; i++) {
            random.nextBytes(value);
            storage.put(key(i), MemorySegment.ofArray(value));
            if (i % (keys / 40) == 0) {
                // It keeps a memtable until it is taken back.
                int reader = i / (keys / 40) % SLOW_READERS;
                if (slow[reader] != null) {
                    slow[reader].close();
                }
                slow[reader] = storage.range(null, null);
            }
        }
        Arrays.stream(slow).filter(cursor -> cursor != null).forEach(Cursor::close);
    }

    private static MemorySegment key(int i) {
        return utf8(String.format("key%09d", Integer.reverse(i) >>> 1));
    }

    private static void read(LsmStorage storage, int keys) {
        SplittableRandom random = new SplittableRandom(2);
        for (int i = 0; i < READS; i++) {
            MemorySegment key = key(random.nextInt(keys));
            if (storage.get(key) == null) {
                throw new IllegalStateException("A key is missing.");
            }
            if (i % RANGE == 0) {
                try (Cursor cursor = storage.range(key, null)) {
                    for (int entry = 0; entry < RANGE && cursor.next(); entry++) {
                        cursor.value();
                    }
                } catch (SnapshotExpiredException wasSlow) {
                    // This thread was stalled while the memtables of before were written out.
                }
            }
        }
    }

    private static long number(Map<String, Object> statistics, String name) {
        return ((Number) statistics.get(name)).longValue();
    }

    /** Memory of this process that is not a file's; 0 where the system does not say. */
    private static long residentBytes() {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith("RssAnon"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * KB).findFirst().orElse(0);
        } catch (IOException e) {
            return 0;
        }
    }
}
