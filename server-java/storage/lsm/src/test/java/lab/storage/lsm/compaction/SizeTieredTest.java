package lab.storage.lsm.compaction;

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

class SizeTieredTest {

    @Test
    void fewTablesAreLeftAlone() {
        assertNull(SizeTiered.choose(List.of()));
        assertNull(SizeTiered.choose(List.of(10L, 10L, 10L)));
    }

    @Test
    void tablesOfSimilarSizeAreMerged() {
        assertEquals(new SizeTiered.Choice(0, 4), SizeTiered.choose(List.of(10L, 10L, 10L, 10L)));
        assertEquals(new SizeTiered.Choice(0, 4), SizeTiered.choose(List.of(10L, 11L, 12L, 13L, 10_000L)));
        assertEquals(new SizeTiered.Choice(1, 5), SizeTiered.choose(List.of(1L, 90L, 80L, 70L, 60L)));
    }

    @Test
    void flushesOfOneSizeCostALogarithmicNumberOfRewrites() {
        List<Long> tables = new ArrayList<>();
        long written = 0;
        int flushes = 1_000;
        for (int i = 0; i < flushes; i++) {
            tables.addFirst(1L);
            for (SizeTiered.Choice run = SizeTiered.choose(tables); run != null;
                    run = SizeTiered.choose(tables)) {
                List<Long> merged = tables.subList(run.from(), run.to());
                long size = merged.stream().mapToLong(Long::longValue).sum();
                written += size;
                merged.clear();
                tables.add(run.from(), size);
            }
            assertTrue(tables.size() < SizeTiered.MAX_RUNS);
        }
        assertTrue(written < flushes * 10L, "each entry is rewritten " + written / (double) flushes + " times");
    }

    @Property
    void runIsAtLeastTwoNeighboursAndTableCountIsBounded(
            @ForAll @Size(max = 30) List<@LongRange(min = 1, max = 1_000_000_000L) Long> sizes) {
        SizeTiered.Choice run = SizeTiered.choose(sizes);
        if (run == null) {
            assertTrue(sizes.size() < SizeTiered.MAX_RUNS);
        } else {
            assertTrue(run.from() >= 0 && run.to() <= sizes.size() && run.to() - run.from() >= 2);
        }
    }
}
