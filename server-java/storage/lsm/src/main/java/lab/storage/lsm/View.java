package lab.storage.lsm;

import java.util.ArrayList;
import java.util.List;

/**
 * What the store consists of at one moment: the memtable that takes writes, the one that is being written out, and the
 * runs of tables. Immutable; every change makes a new view.
 *
 * <p>A view holds a reference to each of its memtables and tables, and readers hold the view. They go when the last
 * reader of the last view that has them is done.
 */
final class View {

    final Memtable active;
    /** Being written out, or null. */
    final Memtable frozen;
    /** Newest first. */
    final List<Run> runs;
    final Lease lease = new Lease(this::giveBack);

    View(Memtable active, Memtable frozen, List<Run> runs) {
        this.active = active;
        this.frozen = frozen;
        this.runs = List.copyOf(runs);
        active.retain();
        if (frozen != null) {
            frozen.retain();
        }
        for (Run run : runs) {
            run.tables().forEach(Table::retain);
        }
    }

    private void giveBack() {
        active.release();
        if (frozen != null) {
            frozen.release();
        }
        for (Run run : runs) {
            run.tables().forEach(Table::release);
        }
    }

    /** Number of the oldest log that holds what is not in tables. */
    long firstLog() {
        return frozen == null ? active.firstLog() : Math.min(frozen.firstLog(), active.firstLog());
    }

    /** All tables, newest run first. */
    List<Table> tables() {
        List<Table> tables = new ArrayList<>();
        runs.forEach(run -> tables.addAll(run.tables()));
        return tables;
    }

    /** Runs of level 0, which every read has to look into one after the other. */
    int freshRuns() {
        int fresh = 0;
        while (fresh < runs.size() && runs.get(fresh).level() == 0) {
            fresh++;
        }
        return fresh;
    }
}
