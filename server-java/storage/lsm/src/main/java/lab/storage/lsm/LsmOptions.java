package lab.storage.lsm;

/**
 * Settings of an {@link LsmStorage}.
 *
 * @param flushThresholdBytes   the memtable is written out when its entries take this much, overhead included; at most
 *                              two memtables are held, so writers wait when twice this is taken. Outside the heap
 * @param wal                   whether writes go to a log first
 * @param compaction            when tables are merged
 * @param compactionRateBytes   bytes a second that merging may write at most; 0 for no limit
 * @param bloomBitsPerKey       size of the filters; 0 for none
 * @param compression           how blocks are packed
 * @param cacheBytes            size of the row cache, on the heap; 0 for none
 * @param maxTableBytes         a table is ended at this size and the next one of its run begun
 * @param maxKeyBytes           larger keys are refused
 * @param maxValueBytes         larger values are refused
 */
public record LsmOptions(long flushThresholdBytes, Wal wal, Compaction compaction, long compactionRateBytes,
        int bloomBitsPerKey, Compression compression, long cacheBytes, long maxTableBytes, int maxKeyBytes,
        int maxValueBytes) {

    /** The same as RocksDB's, so that the two compare. */
    public static final long DEFAULT_FLUSH_THRESHOLD_BYTES = 64L << 20;
    /** About 1 % of the filters' answers are wrong. */
    public static final int DEFAULT_BLOOM_BITS_PER_KEY = 10;
    private static final int MAX_BLOOM_BITS_PER_KEY = 64;
    private static final int DEFAULT_MAX_VALUE_BYTES = 16 << 20;
    private static final int LARGEST_VALUE_BYTES = (1 << 30) + 1024; // room for what a server keeps with a value
    private static final long DEFAULT_MAX_TABLE_BYTES = 64L << 20;
    private static final long LARGEST_THRESHOLD_BYTES = 8L << 30;

    /** Whether writes go to a log first. */
    public enum Wal {
        /** No: what was written since the last flush is lost with the process. */
        OFF("off"),
        /** Into the kernel's memory: a killed process loses nothing that was acknowledged. */
        BUFFERED("buffered"),
        /** To the disk, several writers at once: a machine without power loses nothing that was acknowledged. */
        SYNC("sync");

        private final String flag;

        Wal(String flag) {
            this.flag = flag;
        }

        /** As written on the command line. */
        @Override
        public String toString() {
            return flag;
        }
    }

    /** When tables are merged in the background. */
    public enum Compaction {
        /** Never. */
        OFF("off"),
        /** When several tables next to each other in age are of similar size. */
        SIZE_TIERED("size-tiered"),
        /** Into levels, each ten times as large as the one above it. */
        LEVELED("leveled");

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

    /** Checks each against its range. */
    public LsmOptions {
        require(flushThresholdBytes > 0 && flushThresholdBytes <= LARGEST_THRESHOLD_BYTES, "--flush-threshold-bytes",
                flushThresholdBytes, "1 to " + LARGEST_THRESHOLD_BYTES);
        require(compactionRateBytes >= 0, "--compaction-rate-bytes", compactionRateBytes, "0 or more");
        require(bloomBitsPerKey >= 0 && bloomBitsPerKey <= MAX_BLOOM_BITS_PER_KEY, "--bloom-bits-per-key",
                bloomBitsPerKey, "0 to " + MAX_BLOOM_BITS_PER_KEY);
        require(cacheBytes >= 0, "--cache-bytes", cacheBytes, "0 or more");
        require(maxTableBytes > 0, "the largest table", maxTableBytes, "1 or more");
        require(maxKeyBytes > 0 && maxKeyBytes <= TableFormat.MAX_KEY_BYTES, "--max-key-bytes", maxKeyBytes,
                "1 to " + TableFormat.MAX_KEY_BYTES);
        require(maxValueBytes >= 0 && maxValueBytes <= LARGEST_VALUE_BYTES, "--max-value-bytes", maxValueBytes,
                "0 to " + LARGEST_VALUE_BYTES);
    }

    private static void require(boolean condition, String name, long value, String range) {
        if (!condition) {
            throw new IllegalArgumentException(name + " is " + value + ", but must be " + range + ".");
        }
    }

    /** The defaults, with this threshold and this kind of merging. */
    public LsmOptions(long flushThresholdBytes, Compaction compaction) {
        this(flushThresholdBytes, Wal.BUFFERED, compaction, 0, DEFAULT_BLOOM_BITS_PER_KEY, Compression.NONE, 0,
                DEFAULT_MAX_TABLE_BYTES, TableFormat.MAX_KEY_BYTES, DEFAULT_MAX_VALUE_BYTES);
    }

    /** The defaults. */
    public static LsmOptions defaults() {
        return new LsmOptions(DEFAULT_FLUSH_THRESHOLD_BYTES, Compaction.SIZE_TIERED);
    }

    /** The same with another log. */
    public LsmOptions withWal(Wal other) {
        return new LsmOptions(flushThresholdBytes, other, compaction, compactionRateBytes, bloomBitsPerKey, compression,
                cacheBytes, maxTableBytes, maxKeyBytes, maxValueBytes);
    }

    /** The same with another limit for merging. */
    public LsmOptions withCompactionRateBytes(long bytesPerSecond) {
        return new LsmOptions(flushThresholdBytes, wal, compaction, bytesPerSecond, bloomBitsPerKey, compression,
                cacheBytes, maxTableBytes, maxKeyBytes, maxValueBytes);
    }

    /** The same with other filters. */
    public LsmOptions withBloomBitsPerKey(int bits) {
        return new LsmOptions(flushThresholdBytes, wal, compaction, compactionRateBytes, bits, compression, cacheBytes,
                maxTableBytes, maxKeyBytes, maxValueBytes);
    }

    /** The same with blocks packed in another way. */
    public LsmOptions withCompression(Compression other) {
        return new LsmOptions(flushThresholdBytes, wal, compaction, compactionRateBytes, bloomBitsPerKey, other,
                cacheBytes, maxTableBytes, maxKeyBytes, maxValueBytes);
    }

    /** The same with another row cache. */
    public LsmOptions withCacheBytes(long bytes) {
        return new LsmOptions(flushThresholdBytes, wal, compaction, compactionRateBytes, bloomBitsPerKey, compression,
                bytes, maxTableBytes, maxKeyBytes, maxValueBytes);
    }

    /** The same with tables of another size. */
    public LsmOptions withMaxTableBytes(long bytes) {
        return new LsmOptions(flushThresholdBytes, wal, compaction, compactionRateBytes, bloomBitsPerKey, compression,
                cacheBytes, bytes, maxKeyBytes, maxValueBytes);
    }

    /** The same with other limits for one entry. */
    public LsmOptions withLimits(int keyBytes, int valueBytes) {
        return new LsmOptions(flushThresholdBytes, wal, compaction, compactionRateBytes, bloomBitsPerKey, compression,
                cacheBytes, maxTableBytes, keyBytes, valueBytes);
    }
}
