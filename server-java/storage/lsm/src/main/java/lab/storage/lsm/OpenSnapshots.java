package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import lab.storage.Bytes;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.table.Table;

/**
 * The open snapshots, oldest first. They keep memtables after these were written out; more than one threshold's worth
 * is taken back, oldest snapshot first, so that slow readers do not fill the memory.
 */
final class OpenSnapshots {

    /** With tiny memtables even a reader that only waits for its turn on a core would be slow. */
    private static final long LEAST_KEPT_BYTES = 4 << 20;

    private final long keptBytes;
    private final Tree tree;
    private final LongSupplier visible;
    private final Set<SnapshotCursor> open = new LinkedHashSet<>();

    /**
     * @param tree    has the current view
     * @param visible gives the number of the last write that a snapshot sees
     */
    OpenSnapshots(long thresholdBytes, Tree tree, LongSupplier visible) {
        this.tree = tree;
        this.visible = visible;
        this.keptBytes = Math.max(thresholdBytes, LEAST_KEPT_BYTES);
    }

    /**
     * Does something with the store as it is at a moment.
     *
     * @param <R> what comes of it
     * @param <X> what it may throw
     */
    interface Moment<R, X extends Exception> {
        /**
         * Does it.
         *
         * @param view     held during this call
         * @param sequence the last write that is to be seen; all up to it are in the view
         */
        R use(View view, long sequence) throws X;
    }

    /** Does something with the store as it is at this moment. */
    <R, X extends Exception> R atOneMoment(Moment<R, X> moment) throws X {
        while (true) {
            View view = tree.peek();
            int held = view.pins.enter();
            if (held == Pins.RETIRED) {
                tree.awaitNextView();
                continue;
            }
            try {
                long sequence = visible.getAsLong();
                // Every write up to this number is in the memtables and tables of this view, if it still is the view.
                if (tree.peek() == view) {
                    return moment.use(view, sequence);
                }
            } catch (InternalError e) {
                throw Table.unreadable(view.tables(), e);
            } finally {
                view.pins.exit(held);
            }
        }
    }

    /** Opens a cursor over the store as it is at this moment. */
    SnapshotCursor cursor(MemorySegment from, MemorySegment to) {
        return atOneMoment((view, sequence) -> add(new SnapshotCursor(view, from == null ? null : Bytes.array(from),
                to == null ? null : Bytes.array(to), sequence, this::closed)));
    }

    private synchronized SnapshotCursor add(SnapshotCursor kept) {
        open.add(kept);
        return kept;
    }

    /** Forgets what is not kept any more. */
    synchronized void closed(SnapshotCursor kept) {
        open.remove(kept);
    }

    private synchronized List<SnapshotCursor> all() {
        return List.copyOf(open);
    }

    /** Bytes of the buffers of all. */
    long bufferBytes() {
        long bytes = 0;
        for (SnapshotCursor cursor : all()) {
            bytes += cursor.bufferBytes();
        }
        return bytes;
    }

    /** Takes memtables back that are no longer in the view, until no more is kept than may be. */
    void expireSlow(View view) {
        List<SnapshotCursor> kept = all();
        for (SnapshotCursor oldest : kept) {
            Set<Memtable> dead = Collections.newSetFromMap(new IdentityHashMap<>());
            kept.forEach(cursor -> dead.addAll(cursor.memtables()));
            dead.remove(view.active);
            view.frozen.forEach(dead::remove);
            if (dead.stream().mapToLong(Memtable::sizeBytes).sum() <= keptBytes) {
                return;
            }
            oldest.expire();
        }
    }
}
