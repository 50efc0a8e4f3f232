package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class CompactionPolicyTest {

    @Test
    void fewTablesAreLeftAlone() {
        assertNull(CompactionPolicy.choose(List.of()));
        assertNull(CompactionPolicy.choose(List.of(10L, 10L, 10L)));
    }

    @Test
    void tablesOfSimilarSizeAreMerged() {
        assertEquals(new CompactionPolicy.Run(0, 4), CompactionPolicy.choose(List.of(10L, 10L, 10L, 10L)));
        assertEquals(new CompactionPolicy.Run(0, 4), CompactionPolicy.choose(List.of(10L, 11L, 12L, 13L, 10_000L)));
        assertEquals(new CompactionPolicy.Run(1, 5), CompactionPolicy.choose(List.of(1L, 90L, 80L, 70L, 60L)));
    }

    @Test
    void flushesOfOneSizeCostALogarithmicNumberOfRewrites() {
        List<Long> tables = new ArrayList<>();
        long written = 0;
        int flushes = 1_000;
        for (int i = 0; i < flushes; i++) {
            tables.addFirst(1L);
            for (CompactionPolicy.Run run = CompactionPolicy.choose(tables); run != null;
                    run = CompactionPolicy.choose(tables)) {
                List<Long> merged = tables.subList(run.from(), run.to());
                long size = merged.stream().mapToLong(Long::longValue).sum();
                written += size;
                merged.clear();
                tables.add(run.from(), size);
            }
            assertTrue(tables.size() < CompactionPolicy.MAX_TABLES);
        }
        assertTrue(written < flushes * 10L, "each entry is rewritten " + written / (double) flushes + " times");
    }

    @Property
    void runIsAtLeastTwoNeighboursAndTableCountIsBounded(
            @ForAll @Size(max = 30) List<@LongRange(min = 1, max = 1_000_000_000L) Long> sizes) {
        CompactionPolicy.Run run = CompactionPolicy.choose(sizes);
        if (run == null) {
            assertTrue(sizes.size() < CompactionPolicy.MAX_TABLES);
        } else {
            assertTrue(run.from() >= 0 && run.to() <= sizes.size() && run.to() - run.from() >= 2);
        }
    }
}
