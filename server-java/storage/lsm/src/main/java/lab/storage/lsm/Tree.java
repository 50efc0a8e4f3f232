package lab.storage.lsm;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.StampedLock;
import lab.storage.StorageException;
import lab.storage.memory.VersionedMap;

/**
 * The changing part of the store: the current {@link View}, the sequence of writes, the open snapshots, and the room
 * for which writers wait.
 *
 * <p>Locks, in the order in which they are taken: {@link #commits} (one change of the tables at a time), the monitor of
 * this object (changes of the view, waiting), {@link #writes} (shared by writers, exclusive for snapshots and for the
 * change of memtables).
 */
final class Tree {

    private final TableSet tableSet;
    private final long flushThresholdBytes;
    private final Object commits = new Object();
    private final StampedLock writes = new StampedLock();
    private final AtomicLong lastSequence = new AtomicLong();
    /** Guarded by {@link #writes}. */
    private final Set<SnapshotCursor> snapshots = new LinkedHashSet<>();
    private long newestSnapshot;
    private volatile View view;
    private volatile StorageException flushFailure;
    private boolean closing;

    Tree(TableSet tableSet, List<Table> tables, long flushThresholdBytes) {
        this.tableSet = tableSet;
        this.flushThresholdBytes = flushThresholdBytes;
        this.view = new View(new VersionedMap(), null, tables);
        // The view has taken references of its own.
        tables.forEach(Table::release);
    }

    /** The current view, without a reference: its memtables may be read, its tables may not. */
    View peek() {
        return view;
    }

    /** The current view with a reference, which the caller gives back. */
    View retain() {
        while (true) {
            View current = view;
            if (current.tryRetain()) {
                return current;
            }
            Thread.onSpinWait();
        }
    }

    /** Writes one version, after waiting for room. A null value is a delete. */
    void write(byte[] key, byte[] value) {
        long bytes = VersionedMap.entryBytes(key, value);
        while (true) {
            if (!fits(view.active, bytes)) {
                makeRoom(bytes);
            }
            long stamp = writes.readLock();
            try {
                VersionedMap active = view.active;
                if (fits(active, bytes)) {
                    active.put(key, value, lastSequence.incrementAndGet(), newestSnapshot);
                    return;
                }
            } finally {
                writes.unlockRead(stamp);
            }
        }
    }

    /** A memtable that is empty takes any entry, or an entry larger than the threshold could never be written. */
    private boolean fits(VersionedMap memtable, long bytes) {
        long taken = memtable.sizeBytes();
        return taken == 0 || taken + bytes <= flushThresholdBytes;
    }

    private synchronized void makeRoom(long bytes) {
        while (!fits(view.active, bytes)) {
            if (view.frozen == null) {
                freeze();
            } else {
                awaitChange();
            }
        }
    }

    /** Makes the active memtable the frozen one. Needs the monitor, and that none is frozen. */
    private void freeze() {
        long stamp = writes.writeLock();
        try {
            View before = view;
            view = new View(new VersionedMap(), before.active, before.tables);
            before.release();
            expireSlowSnapshots();
        } finally {
            writes.unlockWrite(stamp);
        }
        notifyAll();
    }

    /** Waits for the flusher. Fails if it cannot write, so that writers learn of it instead of waiting forever. */
    private void awaitChange() {
        StorageException failure = flushFailure;
        if (failure != null) {
            throw new StorageException(failure.getMessage(), failure);
        }
        try {
            wait();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StorageException("The write was interrupted while it waited for a flush; it was not done.", e);
        }
    }

    /**
     * Writes out everything that was written before this call, and waits until it is on disk. A failure of before does
     * not count: the disk may be mended by now, so the flusher tries again at once.
     */
    synchronized void flush() {
        flushFailure = null;
        notifyAll();
        while (view.frozen != null) {
            awaitChange();
        }
        if (view.active.count() == 0) {
            return;
        }
        VersionedMap flushing = view.active;
        freeze();
        while (view.frozen == flushing) {
            awaitChange();
        }
    }

    /** For the flusher: waits for a frozen memtable. Null if there is none and the store closes. */
    synchronized VersionedMap awaitFrozen() {
        while (view.frozen == null && !closing) {
            try {
                wait();
            } catch (InterruptedException e) {
                // Nobody interrupts the flusher: that would close the file it writes to.
            }
        }
        return view.frozen;
    }

    /** For the flusher: waits before it tries again, but not longer than until the store closes. */
    synchronized void pause(long timeoutMs) {
        if (!closing) {
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

    /** For the flusher: says that it could not write, or with null that it can again. */
    synchronized void flushFailed(StorageException failure) {
        flushFailure = failure;
        notifyAll();
    }

    /** Puts a new table in the place of the frozen memtable. Takes the caller's reference to the table. */
    void flushed(Table table) throws IOException {
        synchronized (commits) {
            List<Table> tables = new ArrayList<>(view.tables);
            tables.addFirst(table);
            tableSet.commit(tables);
            synchronized (this) {
                View before = view;
                view = new View(before.active, null, tables);
                before.release();
                flushFailure = null;
                notifyAll();
            }
            table.release();
        }
    }

    /**
     * Puts one table in the place of several.
     *
     * @param old    neighbours in age, all in the current view
     * @param merged what they became; null if no entry was left. Takes the caller's reference
     */
    void compacted(List<Table> old, Table merged) throws IOException {
        synchronized (commits) {
            List<Table> tables = new ArrayList<>(view.tables);
            int at = tables.indexOf(old.getFirst());
            tables.removeAll(old);
            if (merged != null) {
                tables.add(at, merged);
            }
            if (tableSet.commit(tables)) {
                old.forEach(Table::markObsolete);
            }
            synchronized (this) {
                View before = view;
                view = new View(before.active, before.frozen, tables);
                before.release();
                notifyAll();
            }
            if (merged != null) {
                merged.release();
            }
        }
    }

    /** Opens a snapshot of this moment. */
    SnapshotCursor snapshot(MemorySegment from, MemorySegment to) {
        View current;
        long sequence;
        SnapshotCursor cursor;
        long stamp = writes.writeLock();
        try {
            // No writer is under way, so every write up to this number is in the memtables of this view.
            sequence = lastSequence.get();
            current = retain();
            try {
                cursor = new SnapshotCursor(current, from, to, sequence, this::closed);
            } finally {
                current.release();
            }
            snapshots.add(cursor);
            newestSnapshot = sequence;
        } finally {
            writes.unlockWrite(stamp);
        }
        return cursor;
    }

    private void closed(SnapshotCursor cursor) {
        long stamp = writes.writeLock();
        try {
            snapshots.remove(cursor);
            if (snapshots.isEmpty()) {
                newestSnapshot = 0;
            }
        } finally {
            writes.unlockWrite(stamp);
        }
    }

    /**
     * Snapshots keep memtables on the heap after they were written out. More than one threshold's worth of them is taken
     * back, oldest snapshot first. Needs the exclusive lock.
     */
    private void expireSlowSnapshots() {
        for (SnapshotCursor oldest : List.copyOf(snapshots)) {
            Set<VersionedMap> dead = Collections.newSetFromMap(new IdentityHashMap<>());
            snapshots.forEach(snapshot -> dead.addAll(snapshot.memtables()));
            dead.remove(view.active);
            dead.remove(view.frozen);
            if (dead.stream().mapToLong(VersionedMap::sizeBytes).sum() <= flushThresholdBytes) {
                return;
            }
            oldest.expire();
        }
    }

    /** Lets the tables go. */
    synchronized void close() {
        view.release();
    }
}
