package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class LsmOptionsTest {

    @Test
    void thresholdMayBeLargerThanTheHeapSinceMemtablesLieOutside() {
        long more = Runtime.getRuntime().maxMemory() + 1;
        assertEquals(more, new LsmOptions(more, LsmOptions.Compaction.OFF).flushThresholdBytes());
    }

    @Test
    void whatIsOutOfRangeIsRefusedWithItsFlagAndItsRange() {
        refused("--flush-threshold-bytes", () -> new LsmOptions(0, LsmOptions.Compaction.OFF));
        refused("--bloom-bits-per-key", () -> LsmOptions.defaults().withBloomBitsPerKey(-1));
        refused("--cache-bytes", () -> LsmOptions.defaults().withCacheBytes(-1));
        refused("--compaction-rate-bytes", () -> LsmOptions.defaults().withCompactionRateBytes(-1));
        refused("--max-key-bytes", () -> LsmOptions.defaults().withLimits(TableFormat.MAX_KEY_BYTES + 1, 1));
        refused("--max-value-bytes", () -> LsmOptions.defaults().withLimits(1, -1));
    }

    private static void refused(String flag, Runnable action) {
        String message = assertThrows(IllegalArgumentException.class, action::run).getMessage();
        assertTrue(message.startsWith(flag) && message.contains("must be"), message);
    }
}
