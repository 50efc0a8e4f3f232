package lab.storage.lsm;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The open snapshots, oldest first. They keep memtables after these were written out; more than one threshold's worth
 * is taken back, oldest snapshot first, so that slow readers do not fill the memory.
 */
final class Snapshots {

    /** With tiny memtables even a reader that only waits for its turn on a core would be slow. */
    private static final long LEAST_KEPT_BYTES = 4 << 20;

    private final long keptBytes;
    private final Supplier<View> current;
    private final LongSupplier visible;
    private final Set<SnapshotCursor> open = new LinkedHashSet<>();

    /**
     * @param current gives the current view
     * @param visible gives the number of the last write that a snapshot sees
     */
    Snapshots(long thresholdBytes, Supplier<View> current, LongSupplier visible) {
        this.current = current;
        this.visible = visible;
        this.keptBytes = Math.max(thresholdBytes, LEAST_KEPT_BYTES);
    }

    /** Opens a snapshot of this moment. */
    SnapshotCursor open(byte[] from, byte[] to) {
        while (true) {
            View view = current.get();
            int held = view.lease.enter();
            if (held == Lease.RETIRED) {
                Thread.onSpinWait();
                continue;
            }
            try {
                long sequence = visible.getAsLong();
                // Every write up to this number is in the memtables and tables of this view, if it still is the view.
                if (current.get() == view) {
                    return open(view, from, to, sequence);
                }
            } finally {
                view.lease.exit(held);
            }
        }
    }

    private SnapshotCursor open(View view, byte[] from, byte[] to, long sequence) {
        SnapshotCursor cursor = new SnapshotCursor(view, from, to, sequence, this::closed);
        synchronized (this) {
            open.add(cursor);
        }
        return cursor;
    }

    private synchronized void closed(SnapshotCursor cursor) {
        open.remove(cursor);
    }

    private synchronized List<SnapshotCursor> all() {
        return List.copyOf(open);
    }

    /** Takes memtables back that are no longer in the view, until no more is kept than may be. */
    void expireSlow(View view) {
        List<SnapshotCursor> cursors = all();
        for (SnapshotCursor oldest : cursors) {
            Set<Memtable> dead = Collections.newSetFromMap(new IdentityHashMap<>());
            cursors.forEach(cursor -> dead.addAll(cursor.memtables()));
            dead.remove(view.active);
            dead.remove(view.frozen);
            if (dead.stream().mapToLong(Memtable::sizeBytes).sum() <= keptBytes) {
                return;
            }
            oldest.expire();
        }
    }
}
