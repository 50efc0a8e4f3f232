package lab.storage.lsm.memory;

import java.util.concurrent.atomic.LongAdder;

/**
 * How much memory a store may take, on the heap and outside it, and how it is shared out. Three quarters are for memtables
 * and the row cache, which take what they are given; the rest is for what comes and goes: table writers, cursors, and what
 * each open table needs. When that takes more than its share, the cache gives back first,
 * and then memtables are written out before they are full.
 *
 * <p>Blocks, indexes and filters of tables are read where their files are mapped. The kernel pages them, so they have no
 * share and a store of any size needs none for them.
 */
public final class MemoryBudget {

    /** With less than this three tables cannot be written at once. */
    public static final long LEAST_BYTES = 32L << 20;
    private static final int FEWEST_MEMTABLES = 2;
    private static final int MOST_MEMTABLES = 4;
    /** The one that takes writes, one that is being written out, and as much as slow readers may keep. */
    private static final int PLANNED_MEMTABLES = 3;
    /** Pages of a memtable for each byte of its entries: the table of its hash chains comes on top. */
    private static final int PAGES_OF = 17;
    private static final int PAGES_FOR = 16;
    private static final int ROUNDING_BYTES = 1024;
    private static final int WORKING_SHARE = 4;
    private static final int CACHE_SHARE = 2;
    /** One that flushes and two that merge. */
    private static final int TABLE_WRITERS = 3;
    private static final int HEAP_SHARE = 2;
    /** A memtable is not written out before it holds this share. */
    private static final int LEAST_FILL = 8;

    /**
     * Bytes in use.
     *
     * @param memtables    pages of memtables, with those that are kept for the next ones or by readers
     * @param cache        rows of the cache, on the heap
     * @param cursors      buffers of open cursors, on the heap
     * @param tableWriters buffers of tables that are being written
     * @param tables       what open tables need on the heap
     */
    public record Use(long memtables, long cache, long cursors, long tableWriters, long tables) {

        /** All together. */
        public long total() {
            return memtables + cache + cursors + tableWriters + tables;
        }
    }

    private final long bytes;
    private final long cacheBytes;
    private final long memtableBytes;
    private final int memtables;
    private final long tableWriterBytes;
    private final LongAdder inMemtables = new LongAdder();
    private final LongAdder inTableWriters = new LongAdder();

    /**
     * Shares a budget out.
     *
     * @param flushThresholdBytes a memtable gets no more than this
     * @param cacheBytes          the cache gets no more than this
     */
    public MemoryBudget(long bytes, long flushThresholdBytes, long cacheBytes) {
        this.bytes = bytes;
        long working = bytes / WORKING_SHARE;
        this.cacheBytes = Math.min(cacheBytes, (bytes - working) / CACHE_SHARE);
        long forMemtables = forMemtables();
        this.memtableBytes = Math.min(flushThresholdBytes, forMemtables / PLANNED_MEMTABLES * PAGES_FOR / PAGES_OF);
        this.memtables = Math.clamp(forMemtables / memtableBytes, FEWEST_MEMTABLES, MOST_MEMTABLES);
        this.tableWriterBytes = working / TABLE_WRITERS;
    }

    /** Gives the budget for a heap: twice its size, or what the other settings need if that is more. */
    public static long forHeap(long heapBytes, long flushThresholdBytes, long cacheBytes) {
        long others = PLANNED_MEMTABLES * flushThresholdBytes / PAGES_FOR * PAGES_OF + cacheBytes + ROUNDING_BYTES;
        return Math.max(Math.max(LEAST_BYTES, HEAP_SHARE * heapBytes),
                others + others / (WORKING_SHARE - 1));
    }

    /** All that the store may take. */
    public long bytes() {
        return bytes;
    }

    /** What the row cache may take while nothing else needs it. */
    public long cacheBytes() {
        return cacheBytes;
    }

    /** What a memtable may take. */
    public long memtableBytes() {
        return memtableBytes;
    }

    /** So many memtables may hold what is not in tables yet, as long as readers keep none. */
    public int memtables() {
        return memtables;
    }

    /** Whether another memtable has room in addition to those that there are. */
    public boolean hasRoomForMemtable() {
        return inMemtables.sum() + memtableBytes <= forMemtables();
    }

    /** Whether memtables take more than is planned for them, so that none is kept for the next one. */
    public boolean hasTooManyMemtables() {
        return inMemtables.sum() > forMemtables();
    }

    private long forMemtables() {
        return bytes - bytes / WORKING_SHARE - cacheBytes;
    }

    /** What the buffers of one table writer may take. */
    public long tableWriterBytes() {
        return tableWriterBytes;
    }

    /** Where pages of memtables are counted. */
    public LongAdder inMemtables() {
        return inMemtables;
    }

    /** Where buffers of table writers are counted. */
    public LongAdder inTableWriters() {
        return inTableWriters;
    }

    /** Bytes that the cache may take now. */
    public long cacheLimit(Use use) {
        return Math.clamp(use.cache() + bytes - use.total(), 0, cacheBytes);
    }

    /**
     * Bytes to which the memtable that takes writes may grow.
     *
     * @param touchedBytes pages that it has
     */
    public long memtableLimit(Use use, long touchedBytes) {
        long left = bytes - use.total() + use.cache();
        return Math.clamp(touchedBytes + left, memtableBytes / LEAST_FILL, memtableBytes);
    }
}
