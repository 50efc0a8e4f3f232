package lab.storage.lsm;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * What the store consists of at one moment: the memtable that takes writes, those that are to be written out, and the
 * runs of tables. Immutable; every change makes a new view.
 *
 * <p>A view holds a reference to each of its memtables and its runs as a whole, and readers hold the view. They go when
 * the last reader of the last view that has them is done.
 */
public final class View {

    /** Makes views. */
    interface Maker {
        /** Makes a view, which takes over the hold on its runs. */
        View make(Memtable active, List<Memtable> frozen, PinnedRuns held);
    }

    final Memtable active;
    /** To be written out, the last one of them first; newest first. */
    final List<Memtable> frozen;
    /** Newest first. */
    final List<Run> runs;
    final PinnedRuns held;
    final Pins pins;

    View(Memtable active, List<Memtable> frozen, PinnedRuns held) {
        this(active, frozen, held, Pins::new);
    }

    /** With a pins of a test. */
    View(Memtable active, List<Memtable> frozen, PinnedRuns held, Function<Runnable, Pins> leases) {
        this.pins = leases.apply(this::giveBack);
        this.active = active;
        this.frozen = List.copyOf(frozen);
        this.held = held;
        this.runs = held.runs();
        active.retain();
        this.frozen.forEach(Memtable::retain);
    }

    private void giveBack() {
        active.release();
        frozen.forEach(Memtable::release);
        held.close();
    }

    /** Number of the oldest log that holds what is not in tables. */
    long firstLog() {
        return firstLog(frozen.size());
    }

    /** The same when the oldest of the frozen memtables is in tables too. */
    long firstLogAfterFlush() {
        return firstLog(frozen.size() - 1);
    }

    private long firstLog(int newestFrozen) {
        long first = active.firstLog();
        for (int i = 0; i < newestFrozen; i++) {
            first = Math.min(first, frozen.get(i).firstLog());
        }
        return first;
    }

    /** The memtables, newest first. */
    List<Memtable> memtables() {
        List<Memtable> all = new ArrayList<>(frozen);
        all.addFirst(active);
        return all;
    }

    /** The frozen memtable that is written out first; null if there is none. */
    Memtable oldestFrozen() {
        return frozen.isEmpty() ? null : frozen.getLast();
    }

    /** All tables, newest run first. */
    List<Table> tables() {
        return Run.tables(runs);
    }

    /** Runs of level 0 that merging can make fewer; every read has to look into them one after the other. */
    int level0Runs() {
        int fresh = Run.level0(runs);
        for (int i = fresh - 1; i >= 0; i--) {
            fresh -= runs.get(i).isDamaged() ? 1 : 0;
        }
        return fresh;
    }
}
