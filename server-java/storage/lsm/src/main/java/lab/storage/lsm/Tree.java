package lab.storage.lsm;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import lab.storage.Bytes;
import lab.storage.StorageException;

/**
 * The changing part of the store: the current {@link View}, and the room for which writers wait.
 *
 * <p>Locks, in the order in which they are taken: {@link #commits} (one change of the tables at a time), the monitor of
 * this object (changes of the view, waiting), the lock of {@link WritePath} (one writer at a time).
 */
final class Tree {

    private final StoreFolder folder;
    private final Counters counters;
    private final Spares spares;
    private final Pressure pressure;
    private final Snapshots snapshots;
    private final WritePath writes;
    private final DoneLogs doneLogs;
    private final Object commits = new Object();
    private volatile View view;
    private volatile StorageException failure;
    private volatile boolean closing;
    /** Those who wait for a flush, so that it must not rest. */
    private volatile int waitingForFlush;

    /**
     * @param recovery what was found; its memtable becomes the active one, and its reference is taken
     * @param first    the first log; null if there is none
     * @param policy   null if nothing is merged in the background
     */
    Tree(StoreFolder folder, LsmOptions options, Counters counters, Spares spares, Recovery recovery, Log first,
            CompactionPolicy policy) {
        this.folder = folder;
        this.counters = counters;
        this.spares = spares;
        Throttle throttle = new Throttle(counters);
        this.pressure = new Pressure(throttle, options.flushThresholdBytes(), policy);
        this.snapshots = new Snapshots(options.flushThresholdBytes(), this::peek, () -> writes().visible());
        this.doneLogs = new DoneLogs(folder.disk(), recovery.files());
        Memtable active = recovery.memtable();
        this.writes = new WritePath(this, options, counters, throttle, spares, active, first, recovery.lastSequence());
        this.view = new View(active, null, recovery.runs());
        active.release();
    }

    /** The current view, for a glance. */
    View peek() {
        return view;
    }

    /** Where writes go. */
    WritePath writes() {
        return writes;
    }

    /** Looks for a new key in the tables, so that the number of keys is known. */
    void sample(Memtable target, byte[] key, long hash) {
        View now = view;
        if (now.runs.isEmpty()) {
            target.sampled(false);
            return;
        }
        int held = now.lease.enter();
        if (held == Lease.RETIRED) {
            return;
        }
        try {
            target.sampled(LiveEstimate.contains(now.runs, key, key.length, hash));
        } finally {
            now.lease.exit(held);
        }
    }

    /** Waits until a memtable that is full is no longer the one that takes writes. */
    synchronized void makeRoom(Memtable full, long bytes) {
        if (view.active != full) {
            return;
        }
        if (canFreeze()) {
            freeze();
            return;
        }
        StallEvent event = new StallEvent();
        event.begin();
        long from = System.nanoTime();
        try {
            while (view.active == full) {
                if (canFreeze()) {
                    freeze();
                } else {
                    awaitChange();
                }
            }
        } finally {
            event.bytes = bytes;
            event.reason = view.frozen != null ? "flush behind" : "merging behind";
            event.commit();
            counters.waits.increment();
            counters.waitedNs.add(System.nanoTime() - from);
        }
    }

    private boolean canFreeze() {
        return view.frozen == null && spares.ready() && !pressure.tooManyRuns(view);
    }

    /** Makes the active memtable the frozen one. Needs the monitor, and {@link #canFreeze()}. */
    private void freeze() {
        Spares.Spare spare = spares.take();
        View before = view;
        writes.change(spare.memtable(), spare.log(),
                () -> view = new View(spare.memtable(), before.active, before.runs));
        spare.memtable().release();
        before.lease.retire();
        notifyAll();
    }

    /** Waits for the background. Fails if it cannot write, so that writers learn of it instead of waiting forever. */
    private void awaitChange() {
        StorageException told = failure != null ? failure : spares.failure();
        if (told != null) {
            throw Failure.again(told, counters);
        }
        try {
            wait();
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
     * not count: the disk may be mended by now, so the flusher tries again at once.
     */
    synchronized void flush() {
        failure = null;
        spares.retry();
        notifyAll();
        Memtable last = view.active.count() == 0 ? view.frozen : view.active;
        if (last == null) {
            return;
        }
        waitingForFlush++;
        try {
            while (view.active == last || view.frozen == last) {
                if (view.active == last && view.frozen == null && spares.ready()) {
                    freeze();
                } else {
                    awaitChange();
                }
            }
        } finally {
            waitingForFlush--;
        }
    }

    /** Whether the flush is urgent: somebody waits, or soon will. */
    boolean flushIsUrgent() {
        return waitingForFlush > 0 || closing || pressure.flushIsUrgent(view);
    }

    /** For the flusher: tells which share of the memtable is written, and how long that took. */
    void flushProgress(double done, long elapsedNs) {
        pressure.flushProgress(view, done, elapsedNs);
    }

    /** For the flusher: waits for a frozen memtable. Null if there is none and the store closes. */
    synchronized Memtable awaitFrozen() {
        while (view.frozen == null && !closing) {
            try {
                wait();
            } catch (InterruptedException e) {
                // Nobody interrupts the flusher: that would close the file it writes to.
            }
        }
        if (view.frozen != null) {
            snapshots.expireSlow(view);
            view.frozen.retain();
        }
        return view.frozen;
    }

    /** For the flusher: waits before it tries again, but not longer than until the store closes. */
    synchronized void pause(long timeoutMs) {
        if (!closing && failure != null) {
            try {
                wait(timeoutMs);
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

    /** For the background: says that it could not write, or with null that it can again. */
    synchronized void failed(StorageException told) {
        failure = told;
        notifyAll();
    }

    /**
     * Puts new tables in the place of the frozen memtable. Takes the caller's references to the tables.
     *
     * @param done what else is to be done before those who wait for the flush go on
     */
    void flushed(List<Table> tables, Runnable done) throws IOException {
        Log finished;
        boolean survives;
        synchronized (commits) {
            List<Run> runs = new ArrayList<>(view.runs);
            if (!tables.isEmpty()) {
                runs.addFirst(new Run(0, tables));
            }
            survives = folder.commit(runs, view.active.firstLog());
            synchronized (this) {
                View before = view;
                view = new View(before.active, null, runs);
                before.lease.retire();
                finished = writes.takePreviousLog();
                failure = null;
                pressure.changed(view);
                done.run();
                notifyAll();
            }
            tables.forEach(Table::release);
        }
        doneLogs.flushed(finished, survives);
        spares.wake();
    }

    /** Puts tables in the place of those that were merged. Takes the caller's references to the new ones. */
    void compacted(CompactionPlan plan, List<Table> merged) throws IOException {
        synchronized (commits) {
            List<Run> runs = plan.applyTo(view.runs, merged);
            boolean survives = folder.commit(runs, view.firstLog());
            if (survives && !plan.isMove()) {
                plan.tables().forEach(Table::markObsolete);
            }
            synchronized (this) {
                View before = view;
                view = new View(before.active, before.frozen, runs);
                before.lease.retire();
                pressure.changed(view);
                notifyAll();
            }
            merged.forEach(Table::release);
        }
    }

    /** Opens a snapshot of this moment. */
    SnapshotCursor snapshot(MemorySegment from, MemorySegment to) {
        return snapshots.open(from == null ? null : Bytes.array(from), to == null ? null : Bytes.array(to));
    }

    /** Lets memory and tables go, and the logs with them; they are removed if everything is in tables. */
    synchronized void close() {
        boolean empty = view.frozen == null && view.active.count() == 0;
        for (Log log : new Log[] {writes.takePreviousLog(), writes.log()}) {
            if (log != null && empty) {
                log.delete();
            } else if (log != null) {
                log.close();
            }
        }
        view.lease.retire();
    }
}
