package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** The approximate size of a range is as near to the true one as is documented. */
class SizeEstimateTest {

    private static final int KEYS = 3_000;
    private static final int LARGEST_VALUE_BYTES = 400;
    /** A block is ended once it has 4 KiB, so one entry may lie beyond it. */
    private static final int LARGEST_BLOCK_BYTES = 4_096 + LARGEST_VALUE_BYTES + 100;
    /** Lengths, restarts and a block's share of its tail; a key may also share its start with the one before. */
    private static final int ENTRY_OVERHEAD_BYTES = 16;

    private static String key(int number) {
        return String.format("key%06d", number);
    }

    private static MemorySegment value(Random random) {
        byte[] value = new byte[1 + random.nextInt(LARGEST_VALUE_BYTES)];
        random.nextBytes(value);
        return MemorySegment.ofArray(value);
    }

    private static LsmStorage open(Path folder) {
        return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(8 << 20)
                .compaction(LsmOptions.Compaction.OFF).maxTableBytes(100_000).build());
    }

    @Property(tries = 15)
    void inTablesItIsTooLargeByTwoBlocksOfEachRunAtMost(@ForAll @IntRange(min = 1, max = 4) int runs,
            @ForAll Random random) throws IOException {
        Path folder = Files.createTempDirectory("lsm-size");
        try (LsmStorage storage = open(folder)) {
            TreeMap<String, long[]> stored = new TreeMap<>();
            for (int run = 0; run < runs; run++) {
                for (int number = 0; number < KEYS; number++) {
                    if (random.nextInt(runs) == 0) {
                        MemorySegment value = value(random);
                        storage.put(utf8(key(number)), value);
                        long[] sums = stored.computeIfAbsent(key(number), key -> new long[2]);
                        sums[0] += value.byteSize();
                        sums[1] += value.byteSize() + key(number).length() + ENTRY_OVERHEAD_BYTES;
                    }
                }
                storage.flush();
            }
            for (int i = 0; i < 50; i++) {
                String from = key(random.nextInt(KEYS));
                String to = key(random.nextInt(KEYS + 1));
                long estimate = storage.approximateBytes(utf8(from), utf8(to));
                if (from.compareTo(to) >= 0) {
                    assertEquals(0, estimate);
                    continue;
                }
                long least = stored.subMap(from, to).values().stream().mapToLong(sums -> sums[0]).sum();
                long most = stored.subMap(from, to).values().stream().mapToLong(sums -> sums[1]).sum()
                        + 2L * runs * LARGEST_BLOCK_BYTES;
                assertTrue(least <= estimate && estimate <= most, from + " to " + to + ": " + estimate
                        + " is not from " + least + " to " + most);
            }
            assertEquals(0, storage.approximateBytes(utf8("kez"), null));
            assertEquals(0, storage.approximateBytes(null, utf8("kex")));
            assertTrue(storage.approximateBytes(null, null) <= storage.stats().diskBytes());
        } finally {
            remove(folder);
        }
    }

    @Property(tries = 8)
    void inMemoryItIsExactForFewKeysAndWithinAFifthForMany(@ForAll Random random) throws IOException {
        Path folder = Files.createTempDirectory("lsm-size");
        try (LsmStorage storage = open(folder)) {
            int keys = 20_000;
            long[] bytes = new long[keys];
            for (int number = 0; number < keys; number++) {
                MemorySegment value = value(random);
                storage.put(utf8(key(number)), value);
                bytes[number] = key(number).length() + value.byteSize();
            }
            for (int i = 0; i < 50; i++) {
                int from = random.nextInt(keys);
                int to = Math.min(keys, from + random.nextInt(i % 2 == 0 ? 1_024 : keys));
                long truth = 0;
                for (int number = from; number < to; number++) {
                    truth += bytes[number];
                }
                long estimate = storage.approximateBytes(utf8(key(from)), utf8(key(to)));
                if (to - from <= 1_024) {
                    assertEquals(truth, estimate);
                } else {
                    assertTrue(Math.abs(estimate - truth) <= truth / 5, estimate + " is not near " + truth);
                }
            }
        } finally {
            remove(folder);
        }
    }

    private static void remove(Path folder) throws IOException {
        try (var files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
