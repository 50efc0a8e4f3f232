package lab.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class HeapFootprintTest {

    private static final long REGION_BYTES = 1 << 20;

    @Test
    void largeArraysTakeWholeRegions() {
        assertEquals(116, HeapFootprint.ofArray(100, REGION_BYTES / 2, REGION_BYTES));
        assertEquals(REGION_BYTES, HeapFootprint.ofArray(600_000, REGION_BYTES / 2, REGION_BYTES));
        assertEquals(2 * REGION_BYTES, HeapFootprint.ofArray(REGION_BYTES, REGION_BYTES / 2, REGION_BYTES));
    }

    @Test
    void collectorOfThisProcessIsKnown() {
        assertTrue(HeapFootprint.ofArray(16 << 20) >= 16 << 20);
        assertEquals(116, HeapFootprint.ofArray(100));
    }
}
