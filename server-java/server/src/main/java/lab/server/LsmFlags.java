package lab.server;

import lab.storage.lsm.memory.MemoryBudget;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import picocli.CommandLine.Option;

/** How the engine {@code lsm} is set: a switch for each of its parts. */
final class LsmFlags {

    private static final int LARGEST_KEY_BYTES = 64 * 1024;

    @Option(names = "--wal", defaultValue = "buffered", paramLabel = "MODE",
            description = "lsm: write-ahead log: off (lost with the process), buffered (a killed process loses nothing) or "
                    + "sync (a machine without power loses nothing). Default: ${DEFAULT-VALUE}.")
    private LsmOptions.Wal wal;

    @Option(names = "--flush-threshold-bytes", defaultValue = "0", paramLabel = "BYTES",
            description = "lsm: size at which a memtable is written to disk; two to four are held, outside the heap. "
                    + "Default: 0, which is 64 MiB.")
    private long flushThresholdBytes;

    @Option(names = "--compaction", defaultValue = "size-tiered",
            paramLabel = "MODE", description = "lsm: when tables are merged: off, size-tiered or leveled. "
                    + "Default: ${DEFAULT-VALUE}.")
    private LsmOptions.Compaction compaction;

    @Option(names = "--compaction-rate-bytes", defaultValue = "0", paramLabel = "BYTES",
            description = "lsm: bytes per second that merging may write at most. Default: 0, no limit.")
    private long compactionRateBytes;

    @Option(names = "--bloom-bits-per-key", defaultValue = "10", paramLabel = "N",
            description = "lsm: size of the Bloom filters; 0 for none. Default: ${DEFAULT-VALUE}, about 1 %% false positives.")
    private int bloomBitsPerKey;

    @Option(names = "--compression", defaultValue = "none",
            paramLabel = "METHOD", description = "lsm: how blocks are packed: none, lz4 or zstd. Default: ${DEFAULT-VALUE}.")
    private Compression compression;

    @Option(names = "--verify-checksums", defaultValue = "first", paramLabel = "WHEN",
            description = "lsm: when a block is checked: first (when it is read for the first time) or always (each time). "
                    + "Merges and an idle store check again in any case. Default: ${DEFAULT-VALUE}.")
    private LsmOptions.VerifyChecksums verifyChecksums;

    @Option(names = "--cache-bytes", defaultValue = "0", paramLabel = "BYTES",
            description = "lsm: row cache for hot keys, on the heap. Default: 0, none: tables are mapped.")
    private long cacheBytes;

    @Option(names = "--memory-budget-bytes", defaultValue = "0", paramLabel = "BYTES",
            description = "lsm: what the store may take, on the heap and outside it: memtables, row cache, cursors, tables "
                    + "that are written. Default: 0, which is twice the heap, or what the other settings need.")
    private long memoryBudgetBytes;

    @Option(names = "--max-write-wait-ms", defaultValue = "10000", paramLabel = "MS",
            description = "lsm: a write that finds no room for so long, because flushing or merging is behind, is refused "
                    + "with 503 and Retry-After. Default: ${DEFAULT-VALUE}.")
    private long maxWriteWaitMs;

    @Option(names = "--max-key-bytes", defaultValue = "65536", paramLabel = "BYTES",
            description = "Larger keys are refused with 413. Default: ${DEFAULT-VALUE}.")
    private int maxKeyBytes;

    /**
     * Settings of the store, all checked.
     *
     * @param maxValueBytes largest value that the server takes
     * @param heapBytes     heap that this store may plan with
     * @param shares        stores of this process, which share the default of what lies outside the heap
     */
    LsmOptions options(int maxValueBytes, long heapBytes, int shares) {
        Flags.require(flushThresholdBytes >= 0, "--flush-threshold-bytes is " + flushThresholdBytes
                + ", but must be at least 1, or 0 for the default.");
        long threshold = flushThresholdBytes == 0 ? LsmOptions.DEFAULT_FLUSH_THRESHOLD_BYTES / shares
                : flushThresholdBytes;
        Flags.require(cacheBytes <= heapBytes / 2, "--cache-bytes is " + cacheBytes + ", more than half of the heap of "
                + heapBytes + " bytes. Start the JVM with a larger -Xmx, or lower it.");
        return LsmOptions.builder().flushThresholdBytes(threshold).compaction(compaction).wal(wal)
                .compactionRateBytes(compactionRateBytes).bloomBitsPerKey(bloomBitsPerKey).compression(compression)
                .verifyChecksums(verifyChecksums).cacheBytes(cacheBytes).maxKeyBytes(maxKeyBytes()).maxValueBytes(maxValueBytes)
                .maxWriteWaitMs(maxWriteWaitMs).memoryBudgetBytes(memoryBudgetBytes != 0 ? memoryBudgetBytes
                        : MemoryBudget.forHeap(heapBytes, threshold, cacheBytes)).build();
    }

    /** The limit holds for every engine. */
    int maxKeyBytes() {
        Flags.require(maxKeyBytes > 0 && maxKeyBytes <= LARGEST_KEY_BYTES, "--max-key-bytes is " + maxKeyBytes
                + ", but must be 1 to " + LARGEST_KEY_BYTES + ".");
        return maxKeyBytes;
    }
}
