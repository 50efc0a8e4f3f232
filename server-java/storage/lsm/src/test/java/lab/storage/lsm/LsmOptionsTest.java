package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;

class LsmOptionsTest {

    @Test
    void thresholdMayBeLargerThanTheHeapSinceMemtablesLieOutside() {
        long more = Runtime.getRuntime().maxMemory() + 1;
        assertEquals(more, LsmOptions.builder().flushThresholdBytes(more).compaction(LsmOptions.Compaction.OFF).build()
                .flushThresholdBytes());
    }

    @Test
    void whatIsOutOfRangeIsRefusedWithItsFlagAndItsRange() {
        refused("--flush-threshold-bytes", () -> LsmOptions.builder().flushThresholdBytes(0)
                .compaction(LsmOptions.Compaction.OFF).build());
        refused("--bloom-bits-per-key", () -> LsmOptions.builder().bloomBitsPerKey(-1).build());
        refused("--cache-bytes", () -> LsmOptions.builder().cacheBytes(-1).build());
        refused("--compaction-rate-bytes", () -> LsmOptions.builder().compactionRateBytes(-1).build());
        refused("--max-key-bytes", () -> LsmOptions.builder().maxKeyBytes(Keys.MAX_BYTES + 1).maxValueBytes(1).build());
        refused("--max-value-bytes", () -> LsmOptions.builder().maxKeyBytes(1).maxValueBytes(-1).build());
    }

    private static void refused(String flag, Runnable action) {
        String message = assertThrows(IllegalArgumentException.class, action::run).getMessage();
        assertTrue(message.startsWith(flag) && message.contains("must be"), message);
    }
}
