package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import lab.storage.Cursor;
import lab.storage.conformance.Length;
import lab.storage.lsm.memory.MemoryBudget;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store takes no more memory than its budget, however much it holds. */
class MemoryBudgetTest {

    private static final long MIB = 1 << 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    /** What the virtual machine takes besides heap and store: code, classes, stacks, the collector. */
    private static final long MACHINE_BYTES = 160 * MIB;

    @TempDir
    private Path folder;

    private static long number(LsmStorage storage, String name) {
        return ((Number) storage.statistics().get(name)).longValue();
    }

    private static void await(BooleanSupplier condition) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            while (!condition.getAsBoolean()) {
                Thread.sleep(5);
            }
        });
    }

    @Test
    void partsAddUpToNoMoreThanTheBudget() {
        for (long bytes = MemoryBudget.LEAST_BYTES; bytes < 1024 * MIB; bytes += 7 * MIB) {
            for (long threshold : new long[] {1, MIB, 64 * MIB, 512 * MIB}) {
                for (long cache : new long[] {0, MIB, 512 * MIB}) {
                    MemoryBudget budget = new MemoryBudget(bytes, threshold, cache);
                    assertTrue(Math.max(3, budget.memtables()) * budget.memtableBytes() + budget.cacheBytes()
                            + 3 * budget.tableWriterBytes() <= bytes, bytes + ", " + threshold + ", " + cache);
                    assertTrue(budget.memtables() >= 2 && budget.memtableBytes() <= threshold);
                }
            }
        }
    }

    @Test
    void defaultGivesTheOtherSettingsWhatTheyAskFor() {
        for (long cache : new long[] {0, 64 * MIB}) {
            MemoryBudget budget = new MemoryBudget(MemoryBudget.forHeap(128 * MIB, 512 * MIB, cache), 512 * MIB, cache);
            assertEquals(512 * MIB, budget.memtableBytes());
            assertEquals(cache, budget.cacheBytes());
        }
        assertEquals(2 * 512 * MIB, MemoryBudget.forHeap(512 * MIB, 64 * MIB, 0));
    }

    @Test
    void cacheGivesBackFirstAndThenMemtablesAreWrittenOutEarlier() {
        MemoryBudget budget = new MemoryBudget(64 * MIB, 64 * MIB, 16 * MIB);
        MemoryBudget.Use within = new MemoryBudget.Use(20 * MIB, 16 * MIB, 0, 8 * MIB, 0);
        assertEquals(16 * MIB, budget.cacheLimit(within));
        assertEquals(budget.memtableBytes(), budget.memtableLimit(within, 10 * MIB));
        MemoryBudget.Use over = new MemoryBudget.Use(30 * MIB, 16 * MIB, 14 * MIB, 8 * MIB, 0);
        assertEquals(12 * MIB, budget.cacheLimit(over));
        assertEquals(budget.memtableBytes(), budget.memtableLimit(over, 10 * MIB));
        MemoryBudget.Use far = new MemoryBudget.Use(30 * MIB, 2 * MIB, 31 * MIB, 8 * MIB, 0);
        assertEquals(0, budget.cacheLimit(far));
        assertEquals(5 * MIB, budget.memtableLimit(far, 10 * MIB));
    }

    @Test
    void cacheOfAStoreShrinksWhileReadersTakeItsMemory() {
        LsmOptions options = LsmOptions.builder().memoryBudgetBytes(MemoryBudget.LEAST_BYTES).cacheBytes(64 * MIB)
                .compaction(LsmOptions.Compaction.OFF).build();
        byte[] value = new byte[60_000];
        int keys = 400;
        try (LsmStorage storage = new LsmStorage(folder, options)) {
            for (int i = 0; i < keys; i++) {
                storage.put(utf8("key" + i), MemorySegment.ofArray(value));
            }
            storage.flush();
            for (int i = 0; i < keys; i++) {
                storage.get(utf8("key" + i));
            }
            long before = number(storage, "memory_cache_bytes");
            assertTrue(before > 10 * MIB, "the cache took its share: " + before);
            List<Cursor> readers = new ArrayList<>();
            try {
                // Their keys are large, and so are the buffers for them.
                for (int i = 0; i < 20_000; i++) {
                    storage.put(utf8("large" + "k".repeat(900) + i), MemorySegment.ofArray(new byte[0]));
                }
                storage.flush();
                while (number(storage, "memory_cursors_bytes") < 24 * MIB) {
                    for (int more = 0; more < 16; more++) {
                        Cursor reader = storage.range(utf8("large"), null);
                        readers.add(reader);
                        reader.next();
                    }
                }
                await(() -> number(storage, "memory_cache_bytes") < before - 4 * MIB);
            } finally {
                readers.forEach(Cursor::close);
            }
            assertEquals(0, number(storage, "memory_cursors_bytes"));
        }
    }

    @Test
    void storeLargerThanItsMemoryStaysWithinTheBudget() throws IOException, InterruptedException {
        if (Length.LONG) {
            runWith(List.of("-Xmx128m"), 128, 3_000, 0, 32 * MIB);
        } else {
            runWith(List.of("-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"), 32, 80, MemoryBudget.LEAST_BYTES,
                    4 * MIB);
        }
    }

    private void runWith(List<String> jvm, int heapMib, int megabytes, long budgetBytes, long cacheBytes)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(jvm);
        command.addFirst(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-cp",
                System.getProperty("java.class.path"), SmallHeapStore.class.getName(), folder.toString(),
                Integer.toString(megabytes), Long.toString(budgetBytes), Long.toString(cacheBytes)));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String printed = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), printed);
        String[] figures = printed.strip().split(" ");
        long budget = Long.parseLong(figures[0]);
        long used = Long.parseLong(figures[1]);
        long resident = Long.parseLong(figures[2]);
        System.out.println(megabytes + " MB of data with " + jvm.getFirst() + ": at most " + used / MIB + " of "
                + budget / MIB + " MiB of the budget, " + resident / MIB + " MiB of anonymous memory in all");
        assertTrue(used <= budget, used + " bytes of " + budget);
        assertTrue(resident <= heapMib * MIB + budget + MACHINE_BYTES, resident + " bytes resident");
    }
}
