package lab.storage.lsm;

import java.io.IOException;
import lab.storage.StorageException;
import lab.storage.lsm.background.Housekeeper;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.log.LogFormat;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.memtable.MemtablePool;

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
    private static final long RETRY_NS = 1_000_000_000L;

    /**
     * @param log null if there is no log
     */
    record Spare(Memtable memtable, Log log) {
    }

    private final StoreFolder folder;
    private final LsmOptions options;
    private final MemtablePool pool;
    private final Housekeeper housekeeper;
    private final long logCapacity;
    private final long logStepBytes;
    private Tree tree;
    private volatile Spare spare;
    private volatile StorageException failure;

    Spares(StoreFolder folder, LsmOptions options, Housekeeper housekeeper) {
        this.folder = folder;
        this.options = options;
        this.housekeeper = housekeeper;
        this.pool = new MemtablePool(Memtable.capacity(options.flushThresholdBytes(), options.maxKeyBytes(),
                options.maxValueBytes()), options.flushThresholdBytes());
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
            pool.giveBack(memtable.end());
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

    /** Forgets a failure and tries again at once. */
    void retry() {
        failure = null;
        housekeeper.wake();
    }

    @Override
    public long doNext() {
        View view = tree.peek();
        prepareRoom(view);
        try {
            if (spare == null && view.frozen == null && !tree.closing()) {
                spare = newSpare();
                failure = null;
                tree.changed();
            }
            return Long.MAX_VALUE;
        } catch (IOException e) {
            return failed(Failure.of("The store cannot make a log", e));
        } catch (OutOfMemoryError e) {
            return failed(new StorageException("The store gets no memory for its next memtable: " + e.getMessage()
                    + " Stop another process or lower --flush-threshold-bytes; the store tries again every second.", e));
        }
    }

    /** Writers that wait learn of it, and it is tried again a little later. */
    private long failed(StorageException told) {
        failure = told;
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
        int held = view.lease.enter();
        if (held == Lease.RETIRED) {
            return;
        }
        try {
            view.active.touchAhead();
            Log log = tree.writes().log();
            if (log != null) {
                log.reserveAhead(view.active.fill());
            }
        } catch (IOException e) {
            // The writer that needs the room learns of it, and only if there is none by then.
        } finally {
            view.lease.exit(held);
        }
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
