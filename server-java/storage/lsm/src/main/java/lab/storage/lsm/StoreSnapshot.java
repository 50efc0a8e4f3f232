package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import lab.storage.Cursor;
import lab.storage.MultiGet;
import lab.storage.ReverseRanges;
import lab.storage.Snapshot;
import lab.storage.SnapshotExpiredException;
import lab.storage.ValueReader;
import lab.storage.lsm.memtable.Memtable;

/**
 * A moment that is kept: a view of its own, which nobody replaces, and the number of the last write that is seen in it.
 * The view's lease lets readers finish when it is taken back or closed under them.
 */
final class StoreSnapshot implements Snapshot, MultiGet, ReverseRanges, OpenSnapshots.Kept {

    private final View view;
    private final long sequence;
    private final Lookups lookups;
    private final OpenSnapshots snapshots;
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile boolean expired;

    /**
     * @param current  held by the caller during this call
     * @param sequence the last write that is seen
     */
    StoreSnapshot(View current, long sequence, Lookups lookups, OpenSnapshots snapshots) {
        this.view = new View(current.active, current.frozen, current.held.again());
        this.sequence = sequence;
        this.lookups = lookups;
        this.snapshots = snapshots;
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        int held = enter();
        try {
            return lookups.get(view, sequence, key, reader);
        } finally {
            view.lease.exit(held);
        }
    }

    @Override
    public <X extends Exception> void get(List<MemorySegment> keys, MultiGet.Reader<X> reader) throws X {
        int held = enter();
        try {
            lookups.get(view, sequence, keys, reader);
        } finally {
            view.lease.exit(held);
        }
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return cursor(from, to, false);
    }

    @Override
    public Cursor reverseRange(MemorySegment from, MemorySegment to) {
        return cursor(from, to, true);
    }

    private Cursor cursor(MemorySegment from, MemorySegment to, boolean reverse) {
        int held = enter();
        try {
            return snapshots.cursor(view, sequence, from, to, reverse);
        } finally {
            view.lease.exit(held);
        }
    }

    private int enter() {
        int held = view.lease.enter();
        if (held != Lease.RETIRED) {
            return held;
        }
        if (closed.get()) {
            throw new IllegalStateException("The snapshot is closed. Open another one to read.");
        }
        throw new SnapshotExpiredException("The snapshot was taken back, for it kept a memtable in memory that writers "
                + "needed. Close it and open another one; read what belongs together faster, or open the store with a "
                + "larger flush threshold.");
    }

    @Override
    public List<Memtable> memtables() {
        return expired || closed.get() ? List.of()
                : view.memtables();
    }

    @Override
    public void expire() {
        expired = true;
        view.lease.retire();
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            view.lease.retire();
            snapshots.closed(this);
        }
    }
}
