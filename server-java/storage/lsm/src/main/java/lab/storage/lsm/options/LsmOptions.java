package lab.storage.lsm.options;

import java.util.LinkedHashMap;
import java.util.Map;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.memory.MemoryBudget;
import lab.storage.lsm.table.Compression;
import lab.storage.lsm.table.TableFormat;

/** Settings of an {@link LsmStorage}. {@link #builder()} begins with the defaults. */
public final class LsmOptions {

    /** The same as RocksDB's, so that the two compare. */
    public static final long DEFAULT_FLUSH_THRESHOLD_BYTES = 64L << 20;
    /** About 1 % false positives. */
    public static final int DEFAULT_BLOOM_BITS_PER_KEY = 10;
    private static final int MAX_BLOOM_BITS_PER_KEY = 64;
    private static final int DEFAULT_MAX_VALUE_BYTES = 16 << 20;
    private static final int LARGEST_VALUE_BYTES = (1 << 30) + 1024; // room for what a server keeps with a value
    private static final long DEFAULT_MAX_TABLE_BYTES = 64L << 20;
    private static final long LARGEST_THRESHOLD_BYTES = 8L << 30;
    /** Shorter than what clients usually wait for a response. */
    private static final long DEFAULT_MAX_WRITE_WAIT_MS = 10_000;

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

    /** When a block is checked against its checksum. Merges check all that they read, and an idle store all it has. */
    public enum VerifyChecksums {
        /** When it is read for the first time after its table was opened. */
        FIRST("first"),
        /** Each time that it is read, so that what has changed in the meantime is never shown. */
        ALWAYS("always");

        private final String flag;

        VerifyChecksums(String flag) {
            this.flag = flag;
        }

        /** As written on the command line. */
        @Override
        public String toString() {
            return flag;
        }
    }

    private final long flushThresholdBytes;
    private final Wal wal;
    private final Compaction compaction;
    private final long compactionRateBytes;
    private final int bloomBitsPerKey;
    private final Compression compression;
    private final VerifyChecksums verifyChecksums;
    private final long cacheBytes;
    private final long maxTableBytes;
    private final int maxKeyBytes;
    private final int maxValueBytes;
    private final long maxWriteWaitMs;
    private final long memoryBudgetBytes;

    private LsmOptions(Builder parts) {
        flushThresholdBytes = parts.flushThresholdBytes;
        wal = parts.wal;
        compaction = parts.compaction;
        compactionRateBytes = parts.compactionRateBytes;
        bloomBitsPerKey = parts.bloomBitsPerKey;
        compression = parts.compression;
        verifyChecksums = parts.verifyChecksums;
        cacheBytes = parts.cacheBytes;
        maxTableBytes = parts.maxTableBytes;
        maxKeyBytes = parts.maxKeyBytes;
        maxValueBytes = parts.maxValueBytes;
        maxWriteWaitMs = parts.maxWriteWaitMs;
        memoryBudgetBytes = parts.memoryBudgetBytes;
        require(maxWriteWaitMs > 0, "--max-write-wait-ms", maxWriteWaitMs, "1 or more");
        require(memoryBudgetBytes == 0 || memoryBudgetBytes >= MemoryBudget.LEAST_BYTES, "--memory-budget-bytes",
                memoryBudgetBytes, MemoryBudget.LEAST_BYTES + " or more, or 0 for the default");
        require(flushThresholdBytes > 0 && flushThresholdBytes <= LARGEST_THRESHOLD_BYTES, "--flush-threshold-bytes",
                flushThresholdBytes, "1 to " + LARGEST_THRESHOLD_BYTES);
        require(compactionRateBytes >= 0, "--compaction-rate-bytes", compactionRateBytes, "0 or more");
        require(bloomBitsPerKey >= 0 && bloomBitsPerKey <= MAX_BLOOM_BITS_PER_KEY, "--bloom-bits-per-key",
                bloomBitsPerKey, "0 to " + MAX_BLOOM_BITS_PER_KEY);
        require(cacheBytes >= 0, "--cache-bytes", cacheBytes, "0 or more");
        require(maxTableBytes > 0, "the largest table", maxTableBytes, "1 or more");
        require(maxKeyBytes > 0 && maxKeyBytes <= Keys.MAX_BYTES, "--max-key-bytes", maxKeyBytes,
                "1 to " + Keys.MAX_BYTES);
        require(maxValueBytes >= 0 && maxValueBytes <= LARGEST_VALUE_BYTES, "--max-value-bytes", maxValueBytes,
                "0 to " + LARGEST_VALUE_BYTES);
    }

    private static void require(boolean condition, String name, long value, String range) {
        if (!condition) {
            throw new IllegalArgumentException(name + " is " + value + ", but must be " + range + ".");
        }
    }

    /** Begins with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the defaults. */
    public static LsmOptions defaults() {
        return builder().build();
    }

    /** Begins with these settings. */
    public Builder toBuilder() {
        return new Builder()
                .flushThresholdBytes(flushThresholdBytes)
                .wal(wal)
                .compaction(compaction)
                .compactionRateBytes(compactionRateBytes)
                .bloomBitsPerKey(bloomBitsPerKey)
                .compression(compression)
                .verifyChecksums(verifyChecksums)
                .cacheBytes(cacheBytes)
                .maxTableBytes(maxTableBytes)
                .maxKeyBytes(maxKeyBytes)
                .maxValueBytes(maxValueBytes)
                .maxWriteWaitMs(maxWriteWaitMs)
                .memoryBudgetBytes(memoryBudgetBytes);
    }

    /**
     * Size at which the memtable is written out: what its entries take, overhead included; less if {@link #memory()} has
     * no room for two such memtables. Outside the heap.
     */
    public long flushThresholdBytes() {
        return flushThresholdBytes;
    }

    /** Whether writes go to a log first. */
    public Wal wal() {
        return wal;
    }

    /** When tables are merged. */
    public Compaction compaction() {
        return compaction;
    }

    /** Bytes per second that merging may write at most; 0 for no limit. */
    public long compactionRateBytes() {
        return compactionRateBytes;
    }

    /** Size of the filters; 0 for none. */
    public int bloomBitsPerKey() {
        return bloomBitsPerKey;
    }

    /** How blocks are packed. */
    public Compression compression() {
        return compression;
    }

    /** When blocks are checked. */
    public VerifyChecksums verifyChecksums() {
        return verifyChecksums;
    }

    /** Size of the row cache, on the heap; 0 for none. */
    public long cacheBytes() {
        return cacheBytes;
    }

    /** Size at which a table is ended and the next one of its run begun. */
    public long maxTableBytes() {
        return maxTableBytes;
    }

    /** Larger keys are refused. */
    public int maxKeyBytes() {
        return maxKeyBytes;
    }

    /** Larger values are refused. */
    public int maxValueBytes() {
        return maxValueBytes;
    }

    /** Milliseconds that a write waits for room before it is refused. */
    public long maxWriteWaitMs() {
        return maxWriteWaitMs;
    }

    /**
     * Bytes that the store may take, on the heap and outside it; 0 for what {@link MemoryBudget#forHeap} gives for the heap
     * of this process.
     */
    public long memoryBudgetBytes() {
        return memoryBudgetBytes;
    }

    /** Shares the memory out. */
    public MemoryBudget memory() {
        return new MemoryBudget(memoryBudgetBytes != 0 ? memoryBudgetBytes
                : MemoryBudget.forHeap(Runtime.getRuntime().maxMemory(), flushThresholdBytes, cacheBytes),
                flushThresholdBytes, cacheBytes);
    }

    /** Returns the settings by name, as a server shows them; names carry units. */
    public Map<String, Object> report() {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("wal", wal.toString());
        settings.put("flush_threshold_bytes", flushThresholdBytes);
        settings.put("compaction", compaction.toString());
        settings.put("compaction_rate_bytes", compactionRateBytes);
        settings.put("block_bytes", TableFormat.BLOCK_BYTES);
        settings.put("bloom_bits_per_key", bloomBitsPerKey);
        settings.put("compression", compression.toString());
        settings.put("verify_checksums", verifyChecksums.toString());
        settings.put("cache_bytes", cacheBytes);
        settings.put("max_key_bytes", maxKeyBytes);
        settings.put("max_value_bytes", maxValueBytes);
        settings.put("max_write_wait_ms", maxWriteWaitMs);
        settings.put("memory_budget_bytes", memory().bytes());
        return settings;
    }

    @Override
    public String toString() {
        return report().toString();
    }

    /** The settings while they are put together; each part says its name. */
    public static final class Builder {

        private long flushThresholdBytes = DEFAULT_FLUSH_THRESHOLD_BYTES;
        private Wal wal = Wal.BUFFERED;
        private Compaction compaction = Compaction.SIZE_TIERED;
        private long compactionRateBytes;
        private int bloomBitsPerKey = DEFAULT_BLOOM_BITS_PER_KEY;
        private Compression compression = Compression.NONE;
        private VerifyChecksums verifyChecksums = VerifyChecksums.FIRST;
        private long cacheBytes;
        private long maxTableBytes = DEFAULT_MAX_TABLE_BYTES;
        private int maxKeyBytes = Keys.MAX_BYTES;
        private int maxValueBytes = DEFAULT_MAX_VALUE_BYTES;
        private long maxWriteWaitMs = DEFAULT_MAX_WRITE_WAIT_MS;
        private long memoryBudgetBytes;

        private Builder() {
        }

        /** @see LsmOptions#flushThresholdBytes() */
        public Builder flushThresholdBytes(long bytes) {
            flushThresholdBytes = bytes;
            return this;
        }

        /** @see LsmOptions#wal() */
        public Builder wal(Wal mode) {
            wal = mode;
            return this;
        }

        /** @see LsmOptions#compaction() */
        public Builder compaction(Compaction mode) {
            compaction = mode;
            return this;
        }

        /** @see LsmOptions#compactionRateBytes() */
        public Builder compactionRateBytes(long bytesPerSecond) {
            compactionRateBytes = bytesPerSecond;
            return this;
        }

        /** @see LsmOptions#bloomBitsPerKey() */
        public Builder bloomBitsPerKey(int bits) {
            bloomBitsPerKey = bits;
            return this;
        }

        /** @see LsmOptions#compression() */
        public Builder compression(Compression method) {
            compression = method;
            return this;
        }

        /** @see LsmOptions#verifyChecksums() */
        public Builder verifyChecksums(VerifyChecksums when) {
            verifyChecksums = when;
            return this;
        }

        /** @see LsmOptions#cacheBytes() */
        public Builder cacheBytes(long bytes) {
            cacheBytes = bytes;
            return this;
        }

        /** @see LsmOptions#maxTableBytes() */
        public Builder maxTableBytes(long bytes) {
            maxTableBytes = bytes;
            return this;
        }

        /** @see LsmOptions#maxKeyBytes() */
        public Builder maxKeyBytes(int bytes) {
            maxKeyBytes = bytes;
            return this;
        }

        /** @see LsmOptions#maxValueBytes() */
        public Builder maxValueBytes(int bytes) {
            maxValueBytes = bytes;
            return this;
        }

        /** @see LsmOptions#maxWriteWaitMs() */
        public Builder maxWriteWaitMs(long milliseconds) {
            maxWriteWaitMs = milliseconds;
            return this;
        }

        /** @see LsmOptions#memoryBudgetBytes() */
        public Builder memoryBudgetBytes(long bytes) {
            memoryBudgetBytes = bytes;
            return this;
        }

        /**
         * Checks each setting against its range.
         *
         * @throws IllegalArgumentException if one is outside
         */
        public LsmOptions build() {
            return new LsmOptions(this);
        }
    }
}
