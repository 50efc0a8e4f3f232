package lab.storage.lsm;

/**
 * Settings of an {@link LsmStorage}.
 *
 * @param flushThresholdBytes the memtable is written out when its entries take this much, overhead included; at most
 *                            two memtables are held, so writers wait when twice this is taken
 * @param compaction          when tables are merged
 */
public record LsmOptions(long flushThresholdBytes, Compaction compaction) {

    /** When tables are merged in the background. */
    public enum Compaction {
        /** Never. */
        OFF("off"),
        /** When several tables next to each other in age are of similar size. */
        SIZE_TIERED("size-tiered");

        private final String flag;

        Compaction(String flag) {
            this.flag = flag;
        }

        /** As written on the command line. */
        @Override
        public String toString() {
            return flag;
        }
    }

    /** A memtable may take an eighth of the heap, so that two take a quarter of it. */
    private static final int HEAP_SHARE = 8;
    private static final double LARGEST_HEAP_SHARE = 0.3;
    private static final int RECOMMENDED_HEAPS = 4;
    private static final long SMALLEST_DEFAULT_BYTES = 256 * 1024;

    /** Checks the threshold against zero; {@link #forHeap} checks it against the heap. */
    public LsmOptions {
        if (flushThresholdBytes <= 0) {
            throw new IllegalArgumentException("--flush-threshold-bytes is " + flushThresholdBytes
                    + ", but must be at least 1.");
        }
    }

    /** Threshold that suits a heap. */
    public static long defaultFlushThresholdBytes(long heapMaxBytes) {
        return Math.max(SMALLEST_DEFAULT_BYTES, heapMaxBytes / HEAP_SHARE);
    }

    /**
     * Settings checked against the heap.
     *
     * @param flushThresholdBytes the threshold, or 0 for the default
     * @throws IllegalArgumentException if two memtables of this size would leave too little of the heap
     */
    public static LsmOptions forHeap(long flushThresholdBytes, Compaction compaction, long heapMaxBytes) {
        if (flushThresholdBytes > heapMaxBytes * LARGEST_HEAP_SHARE) {
            throw new IllegalArgumentException("--flush-threshold-bytes " + flushThresholdBytes + " is more than "
                    + LARGEST_HEAP_SHARE + " of the heap of " + heapMaxBytes + " bytes; two memtables would take more "
                    + "than half of it. Start the JVM with -Xmx of at least "
                    + flushThresholdBytes * RECOMMENDED_HEAPS + " bytes, or lower the threshold.");
        }
        return new LsmOptions(flushThresholdBytes == 0 ? defaultFlushThresholdBytes(heapMaxBytes)
                : flushThresholdBytes, compaction);
    }
}
