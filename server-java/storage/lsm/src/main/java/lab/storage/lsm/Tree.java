package lab.storage.lsm;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lab.storage.StorageBusyException;
import lab.storage.StorageException;
import lab.storage.StorageFullException;
import lab.storage.lsm.background.Failure;
import lab.storage.lsm.compaction.CompactionPlan;
import lab.storage.lsm.compaction.CompactionPolicy;
import lab.storage.lsm.compaction.Compactor;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.manifest.Recovery;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.memory.MemoryBudget;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * The changing part of the store: the current {@link View}, and the room for which writers wait.
 *
 * <p>Locks, in the order in which they are taken: {@link #commits} (one change of the tables at a time), the monitor of
 * this object (changes of the view, waiting), the lock of {@link WritePath} (one writer at a time).
 */
final class Tree implements Compactor.Target {

    private static final long NS_PER_MS = 1_000_000;

    private final StoreFolder folder;
    private final Counters counters;
    private final Spares spares;
    private final BackPressurePolicy pressure;
    private final OpenSnapshots snapshots;
    private final WritePath writes;
    private final View.Maker views;
    private final long maxWriteWaitMs;
    /** So many memtables may wait to be written out. */
    private final int mostFrozen;
    /** Files of logs whose records are in the first memtable; they go with the first flush. */
    private List<Path> recoveredLogs;
    private final Object commits = new Object();
    private volatile View view;
    private volatile StorageException failure;
    /** Calls of {@link #flush()} until now, and until the flusher began with what it writes. Under the monitor. */
    private int flushes;
    private int flushesBegun;
    /** The log that could not be forced to disk last. Written under the monitor. */
    private volatile Log brokenLog;
    private volatile boolean closing;
    private volatile boolean closed;
    /** Those who wait for a flush, so that it must not rest. */
    private volatile int waitingForFlush;
    /** Writers that wait for the next memtable. */
    private volatile int waitingForRoom;

    /**
     * @param recovery what was found; its memtable becomes the active one, and its reference is taken
     * @param first    the first log; null if there is none
     * @param policy   null if nothing is merged in the background
     * @param memory   says how many memtables there may be
     * @param views    makes the views
     */
    Tree(StoreFolder folder, LsmOptions options, Counters counters, Spares spares, Recovery recovery, Log first,
            CompactionPolicy policy, MemoryBudget memory, View.Maker views) {
        this.folder = folder;
        this.views = views;
        this.mostFrozen = memory.memtables() - 1;
        this.maxWriteWaitMs = options.maxWriteWaitMs();
        this.counters = counters;
        this.spares = spares;
        WriteThrottle throttle = new WriteThrottle(counters);
        this.pressure = new BackPressurePolicy(throttle, options.flushThresholdBytes(), memory, policy);
        this.snapshots = new OpenSnapshots(options.flushThresholdBytes(), this, () -> writes().visible());
        this.recoveredLogs = recovery.files();
        Memtable active = recovery.memtable();
        this.writes = new WritePath(this, options, counters, throttle, spares, active, first, recovery.lastSequence());
        this.view = views.make(active, List.of(), PinnedRuns.first(recovery.runs()));
        active.release();
    }

    /** The current view, for a glance. */
    View peek() {
        return view;
    }

    /**
     * Called by those who find a view retired: the next one is there at once.
     *
     * @throws StorageException if there is none, because the store is closed
     */
    void awaitNextView() {
        if (closed) {
            throw isClosed();
        }
        Thread.onSpinWait();
    }

    /** What the users of a closed store get. */
    StorageException isClosed() {
        return new StorageException("The store in " + folder.path() + " is closed. Open it again to use it.");
    }

    /** Where writes go. */
    WritePath writes() {
        return writes;
    }

    /**
     * Waits until a memtable that is full is no longer the one that takes writes.
     *
     * @throws StorageBusyException if that takes too long
     */
    synchronized void makeRoom(Memtable full, long bytes) {
        if (view.active != full) {
            return;
        }
        if (canFreeze()) {
            freeze();
            return;
        }
        waitingForRoom++;
        spares.wake();
        StallEvent event = new StallEvent();
        event.begin();
        long from = System.nanoTime();
        try {
            while (view.active == full) {
                long leftMs = maxWriteWaitMs - (System.nanoTime() - from) / NS_PER_MS;
                if (canFreeze()) {
                    freeze();
                } else if (leftMs > 0) {
                    awaitChange(leftMs);
                } else {
                    counters.refusedBusy.increment();
                    throw busy();
                }
            }
        } finally {
            waitingForRoom--;
            event.bytes = bytes;
            event.reason = mergingIsBehind() ? "merging behind" : "flush behind";
            event.commit();
            counters.waits.increment();
            counters.waitedNs.add(System.nanoTime() - from);
        }
    }

    private StorageBusyException busy() {
        String cause = mergingIsBehind() ? view.level0Runs() + " runs wait to be merged"
                : !view.frozen.isEmpty() ? "the memtables before are still being written to disk"
                : "the next memtable and its log are not ready";
        return new StorageBusyException("The write was not done: it waited for room for " + maxWriteWaitMs
                + " ms, because " + cause + ". Try again later and write more slowly, or give the store a faster disk, a "
                + "larger --flush-threshold-bytes or a longer --max-write-wait-ms.");
    }

    private boolean mergingIsBehind() {
        return hasPlaceForFrozen(view) && pressure.tooManyRuns(view);
    }

    private boolean canFreeze() {
        return hasPlaceForFrozen(view) && spares.ready() && !pressure.tooManyRuns(view);
    }

    /** Whether another memtable may wait to be written out. */
    boolean hasPlaceForFrozen(View now) {
        return now.frozen.size() < mostFrozen;
    }

    /** Makes the active memtable a frozen one. Needs the monitor, and {@link #canFreeze()}. */
    private void freeze() {
        View before = view;
        // What can fail comes first: from the first change on writers depend on the last one.
        Spares.Spare spare = spares.next();
        List<Memtable> frozen = new ArrayList<>(before.frozen);
        frozen.addFirst(before.active);
        View next = views.make(spare.memtable(), frozen, before.held.next(before.runs, List.of()));
        spares.take();
        writes.change(spare.memtable(), spare.log(), () -> install(next, List.of(), List.of()));
        spare.memtable().release();
        before.pins.retire();
        notifyAll();
    }

    /** Makes a view the current one. The one before is still to be retired. */
    private void install(View next, List<Table> added, List<Table> removed) {
        view.held.follow(next.held, added, removed);
        view = next;
    }

    /**
     * Waits for the background. Fails if it cannot write, so that writers learn of it instead of waiting.
     *
     * @param timeoutMs 0 for no limit
     */
    private void awaitChange(long timeoutMs) {
        StorageException reported = failure != null ? failure : spares.failure();
        if (reported != null) {
            if (reported instanceof StorageFullException) {
                counters.refusedFull.increment();
            }
            throw Failure.copyForCaller(reported);
        }
        try {
            wait(timeoutMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StorageException("The write was interrupted while it waited for a flush; it was not done.", e);
        }
    }

    /** For the background: something has changed that somebody may wait for. */
    synchronized void changed() {
        notifyAll();
    }

    /**
     * Writes out everything that was written before this call, and waits until it is on disk. A failure of before does
     * not count: the disk may be repaired by now, so the flusher tries again at once.
     */
    synchronized void flush() {
        if (closed) {
            throw isClosed();
        }
        flushes++;
        failure = null;
        spares.retry();
        notifyAll();
        Memtable last = view.active.count() > 0 ? view.active : view.frozen.isEmpty() ? null : view.frozen.getFirst();
        if (last == null) {
            return;
        }
        waitingForFlush++;
        spares.wake();
        try {
            while (view.active == last || view.frozen.contains(last)) {
                if (view.active == last && hasPlaceForFrozen(view) && spares.ready()) {
                    freeze();
                } else {
                    awaitChange(0);
                }
            }
        } finally {
            waitingForFlush--;
        }
    }

    /** Whether somebody waits for the next memtable, or a log of no use for the next log. */
    boolean spareIsAwaited() {
        return waitingForFlush > 0 || waitingForRoom > 0 || logIsBroken();
    }

    private boolean logIsBroken() {
        Log broken = brokenLog;
        return broken != null && broken == writes.log();
    }

    /** Whether the flush is urgent: somebody waits, or soon will. */
    boolean flushIsUrgent() {
        return waitingForFlush > 0 || closing || pressure.flushIsUrgent(view);
    }

    /** For the flusher: tells which share of the memtable is written, and how long that took. */
    void flushProgress(double done, long elapsedNs) {
        pressure.flushProgress(view, done, elapsedNs);
    }

    /** For the flusher: waits for a frozen memtable and gives the oldest. Null if there is none and the store closes. */
    synchronized Memtable awaitFrozen() {
        while (view.frozen.isEmpty() && !closing) {
            if (logIsBroken() && spares.ready()) {
                freeze();
                continue;
            }
            try {
                wait();
            } catch (InterruptedException e) {
                // Nobody interrupts the flusher: that would close the file it writes to.
            }
        }
        Memtable oldest = view.oldestFrozen();
        flushesBegun = flushes;
        if (oldest != null) {
            snapshots.expireSlow(view);
            oldest.retain();
        }
        return oldest;
    }

    /**
     * Has the memtable of a log that cannot be forced to disk written out, and a new log begun, by the thread that does so for
     * all memtables: as a table it is safe.
     */
    synchronized void giveUp(Log broken) {
        if (brokenLog != broken) {
            brokenLog = broken;
            spares.wake();
            notifyAll();
        }
    }

    /** For the flusher: waits before it tries again, but not longer than until the store closes or a flush is asked for. */
    synchronized void pause(long timeoutMs) {
        long until = System.nanoTime() + timeoutMs * NS_PER_MS;
        for (long leftMs = timeoutMs; leftMs > 0 && !closing && failure != null;
                leftMs = (until - System.nanoTime()) / NS_PER_MS) {
            try {
                wait(leftMs);
            } catch (InterruptedException e) {
                // As above.
            }
        }
    }

    /** Tells the flusher to end. */
    synchronized void beginClose() {
        closing = true;
        notifyAll();
    }

    /** Whether the store closes. */
    boolean closing() {
        return closing;
    }

    /** For the flusher: it could not write. Does not count if a flush was asked for since it began. */
    synchronized void flushFailed(StorageException cause) {
        if (flushesBegun == flushes) {
            failed(cause);
        }
    }

    @Override
    public synchronized void failed(StorageException cause) {
        failure = cause;
        notifyAll();
    }

    /**
     * Puts new tables in the place of the oldest frozen memtable. Takes the caller's references to the tables.
     *
     * @param done what else is to be done before those who wait for the flush go on
     * @throws IOException      if the manifest names none of them
     * @throws StorageException if it may name them, but a loss of power may bring the state before back
     */
    void flushed(List<Table> tables, Runnable done) throws IOException {
        Log finished;
        synchronized (commits) {
            List<Run> runs = new ArrayList<>(view.runs);
            if (!tables.isEmpty()) {
                runs.addFirst(new Run(0, tables));
            }
            if (!folder.commit(runs, view.firstLogAfterFlush(), view.oldestFrozen().lastSequence())) {
                throw new StorageException("The manifest in " + folder.path() + " cannot be forced to disk. "
                        + Failure.RETRIED);
            }
            synchronized (this) {
                View before = view;
                // Others may have been frozen since.
                List<Memtable> frozen = before.frozen.subList(0, before.frozen.size() - 1);
                install(views.make(before.active, frozen, before.held.next(runs, tables)), tables, List.of());
                before.pins.retire();
                snapshots.expireSlow(view);
                finished = writes.takeOldestLog();
                failure = null;
                pressure.changed(view);
                done.run();
                notifyAll();
            }
            tables.forEach(Table::release);
        }
        deleteLogs(finished);
        spares.wake();
    }

    /**
     * Removes logs whose records are in tables.
     *
     * @param finished log of the memtable that was flushed; null if it had none
     */
    private void deleteLogs(Log finished) {
        if (finished != null) {
            finished.delete();
        }
        for (Path file : recoveredLogs) {
            try {
                folder.disk().delete(file);
            } catch (IOException e) {
                // The manifest no longer asks for it, so the next start removes it.
            }
        }
        recoveredLogs = List.of();
    }

    @Override
    public List<Run> runs() {
        return view.runs;
    }

    @Override
    public Compactor.Pin pin() {
        while (true) {
            View now = view;
            int held = now.pins.enter();
            if (held == Pins.RETIRED) {
                awaitNextView();
                continue;
            }
            try {
                PinnedRuns runs = now.held.again();
                return new Compactor.Pin(runs.runs(), runs::close);
            } finally {
                now.pins.exit(held);
            }
        }
    }

    @Override
    public void compacted(CompactionPlan plan, List<Table> merged, List<List<Table>> rests) throws IOException {
        List<Table> written = new ArrayList<>(merged);
        rests.forEach(written::addAll);
        synchronized (commits) {
            List<Run> runs = plan.applyTo(view.runs, merged, rests);
            List<Table> added = plan.isMove() ? List.of() : written;
            List<Table> removed = plan.isMove() ? List.of() : plan.tables();
            boolean isDurable = folder.commit(runs, view.firstLog(), Manifest.UNKNOWN);
            synchronized (this) {
                View before = view;
                install(views.make(before.active, before.frozen, before.held.next(runs, added)), added, removed);
                if (isDurable) {
                    // Not before: until the view is changed, a flush may commit them again.
                    removed.forEach(Table::markObsolete);
                }
                before.pins.retire();
                pressure.changed(view);
                notifyAll();
            }
            if (!plan.isMove()) {
                counters.compacted(plan.tables(), written);
            }
            written.forEach(Table::release);
        }
    }

    /** Returns when what is in the logs is on disk, and their names too. */
    void syncLogs() throws IOException {
        writes.syncLogs();
        folder.disk().forceFolder(folder.path());
    }

    /** Moments of the store, and those that are kept. */
    OpenSnapshots snapshots() {
        return snapshots;
    }

    /** Lets memory and tables go, and the logs with them; they are removed if everything is in tables. */
    synchronized void close() {
        writes.close();
        closed = true;
        boolean empty = view.frozen.isEmpty() && view.active.count() == 0;
        List<Log> logs = new ArrayList<>();
        for (Log log = writes.takeOldestLog(); log != null; log = writes.takeOldestLog()) {
            logs.add(log);
        }
        logs.add(writes.log());
        for (Log log : logs) {
            if (log != null && empty) {
                log.delete();
            } else if (log != null) {
                log.close();
            }
        }
        view.pins.retire();
        folder.close();
    }
}
