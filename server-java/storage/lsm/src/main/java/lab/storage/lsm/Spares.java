package lab.storage.lsm;

import java.io.IOException;
import java.util.Map;
import lab.storage.StorageException;
import lab.storage.lsm.background.Failure;
import lab.storage.lsm.background.Housekeeper;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.log.LogFormat;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.memory.MemoryBudget;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.memtable.MemtablePool;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * The memtable and the log that come next, prepared before they are needed: a writer that fills a memtable then only
 * changes a reference.
 */
final class Spares implements Housekeeper.Work {

    /** A record repeats the key, which a memtable has once; so a log may grow larger than its memtable. */
    private static final int LOG_THRESHOLDS = 2;
    private static final int LOG_STEPS = 4;
    private static final long SMALLEST_STEP_BYTES = 64 * 1024;
    private static final long LARGEST_STEP_BYTES = 1 << 20;
    private static final double NEEDED_FILL = 0.5;
    private static final long RETRY_NS = 1_000_000_000L;

    /**
     * @param log null if there is no log
     */
    record Spare(Memtable memtable, Log log) {
    }

    private final StoreFolder folder;
    private final LsmOptions options;
    private final MemtablePool pool;
    private final MemoryBudget memory;
    private final RowCache cache;
    private final Housekeeper housekeeper;
    private final long logCapacity;
    private final long logStepBytes;
    private Tree tree;
    private volatile Spare spare;
    private volatile StorageException failure;
    /** How often {@link #retry()} was called. */
    private int retries;

    /**
     * @param cache null if there is none
     */
    Spares(StoreFolder folder, LsmOptions options, MemoryBudget memory, RowCache cache, Housekeeper housekeeper) {
        this.folder = folder;
        this.options = options;
        this.memory = memory;
        this.cache = cache;
        this.housekeeper = housekeeper;
        this.pool = new MemtablePool(Memtable.capacity(options.flushThresholdBytes(), options.maxKeyBytes(),
                options.maxValueBytes()), options.flushThresholdBytes(), memory.memtables() - 1, memory.inMemtables());
        long largest = LogFormat.recordBytes(options.maxKeyBytes(), options.maxValueBytes());
        this.logCapacity = Math.min(Integer.MAX_VALUE,
                LogFormat.HEADER_BYTES + LOG_THRESHOLDS * options.flushThresholdBytes() + largest);
        this.logStepBytes = Math.clamp(options.flushThresholdBytes() / LOG_STEPS, SMALLEST_STEP_BYTES,
                LARGEST_STEP_BYTES);
    }

    /** Begins to prepare, for a store. */
    void begin(Tree owner) {
        tree = owner;
        housekeeper.begin(this);
    }

    /** A memtable that is not prepared by the housekeeper. */
    Memtable newMemtable(long firstLog) {
        Memtable memtable = new Memtable(pool.take(), options.flushThresholdBytes(), firstLog, this::dispose);
        memtable.touchAhead();
        return memtable;
    }

    private void dispose(Memtable memtable) {
        housekeeper.execute(() -> {
            pool.giveBack(memtable.end(), !memory.hasTooManyMemtables());
            housekeeper.wake();
        });
    }

    /** A log that is not prepared by the housekeeper; null if there is none. */
    Log newLog() throws IOException {
        return options.wal() == LsmOptions.Wal.OFF ? null : folder.newLog(logCapacity, logStepBytes);
    }

    boolean ready() {
        return spare != null;
    }

    /** The spare, which must be ready. */
    Spare next() {
        return spare;
    }

    /** Gives the spare to the caller; the memtable's reference goes with it. */
    void take() {
        spare = null;
    }

    void wake() {
        housekeeper.wake();
    }

    /** Why nothing could be prepared, or null. */
    StorageException failure() {
        return failure;
    }

    /** Forgets a failure, that of an attempt which is under way too, and tries again at once. */
    synchronized void retry() {
        retries++;
        failure = null;
        housekeeper.wake();
    }

    private synchronized int retries() {
        return retries;
    }

    @Override
    public long doNext() {
        View view = tree.peek();
        prepareRoom(view);
        int begun = retries();
        try {
            if (spare == null && tree.hasPlaceForFrozen(view) && hasMemory(view) && !tree.closing()) {
                spare = newSpare();
                failure = null;
                tree.changed();
            }
            return Long.MAX_VALUE;
        } catch (IOException e) {
            return failed(Failure.of("The store cannot make a log", e, Failure.RETRIED), begun);
        } catch (OutOfMemoryError e) {
            return failed(new StorageException("The store gets no memory for its next memtable: " + e.getMessage()
                    + " Stop another process or lower --flush-threshold-bytes; the store tries again every second.", e),
                    begun);
        }
    }

    /** Whether another memtable has room; the first one after that in use, when it is needed soon, has it always. */
    private boolean hasMemory(View view) {
        return pool.hasFree() || memory.hasRoomForMemtable()
                || view.frozen.isEmpty() && (view.active.fill() > NEEDED_FILL || tree.spareIsAwaited());
    }

    /** Writers that wait learn of it, and it is tried again a little later; at once if that was asked for meanwhile. */
    private long failed(StorageException reported, int begun) {
        synchronized (this) {
            if (begun != retries) {
                return 0;
            }
            failure = reported;
        }
        tree.changed();
        return RETRY_NS;
    }

    private Spare newSpare() throws IOException {
        Log log = newLog();
        try {
            return new Spare(newMemtable(log == null ? Long.MAX_VALUE : log.number()), log);
        } catch (Throwable e) {
            if (log != null) {
                log.delete();
            }
            throw e;
        }
    }

    private void prepareRoom(View view) {
        int held = view.pins.enter();
        if (held == Pins.RETIRED) {
            return;
        }
        try {
            balance(view);
            view.active.touchAhead();
            Log log = tree.writes().log();
            if (log != null) {
                log.reserveAhead(view.active.fill());
            }
        } catch (IOException e) {
            // The writer that needs the room learns of it, and only if there is none by then.
        } finally {
            view.pins.exit(held);
        }
    }

    /** Takes memory back from those who can do with less, when there is more in use than there may be. */
    private void balance(View view) {
        MemoryBudget.Use use = use(view);
        if (use.total() > memory.bytes()) {
            pool.trim();
            use = use(view);
        }
        if (cache != null) {
            cache.limit(memory.cacheLimit(use));
        }
        view.active.limit(memory.memtableLimit(use, view.active.touchedBytes()));
    }

    private MemoryBudget.Use use(View view) {
        long tables = 0;
        for (Run run : view.runs) {
            for (Table table : run.tables()) {
                tables += table.heapBytes();
            }
        }
        return new MemoryBudget.Use(memory.inMemtables().sum(), cache == null ? 0 : cache.bytes(),
                tree.snapshots().bufferBytes(), memory.inTableWriters().sum(), tables);
    }

    /** Adds what the parts of the store take, and what the kernel pages for it. */
    void reportMemory(View view, Map<String, Object> all) {
        MemoryBudget.Use use = use(view);
        all.put("memory_budget_bytes", memory.bytes());
        all.put("memory_used_bytes", use.total());
        all.put("memory_memtables_bytes", use.memtables());
        all.put("memory_cache_bytes", use.cache());
        all.put("memory_cursors_bytes", use.cursors());
        all.put("memory_table_writers_bytes", use.tableWriters());
        all.put("memory_tables_bytes", use.tables());
        all.put("mapped_index_and_filter_bytes",
                view.tables().stream().mapToLong(Table::indexAndFilterBytes).sum());
    }

    /** Gives back what was prepared. After the housekeeper has ended. */
    void close() {
        if (spare != null) {
            spare.memtable().release();
            if (spare.log() != null) {
                spare.log().delete();
            }
        }
        pool.close();
    }
}
