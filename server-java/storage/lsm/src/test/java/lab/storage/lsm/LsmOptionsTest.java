package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class LsmOptionsTest {

    private static final long HEAP_BYTES = 128L << 20;

    @Test
    void twoMemtablesTakeAQuarterOfTheHeapByDefault() {
        assertEquals(16L << 20,
                LsmOptions.forHeap(0, LsmOptions.Compaction.OFF, HEAP_BYTES).flushThresholdBytes());
    }

    @Test
    void thresholdThatTheHeapCannotHoldIsRefusedWithTheHeapThatCould() {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class,
                () -> LsmOptions.forHeap(HEAP_BYTES, LsmOptions.Compaction.OFF, HEAP_BYTES));
        assertTrue(refused.getMessage().contains("-Xmx of at least " + HEAP_BYTES * 4), refused.getMessage());
    }
}
