package lab.storage.lsm;

import java.util.ArrayList;
import java.util.List;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * Keeps the tables of the runs of one moment. Each table has one reference from all of these together: a change of the
 * store costs what it adds and removes, however many tables there are and however often they are held.
 *
 * <p>The holds of a store form a chain, oldest first. A table that a change removes hangs on the last hold that has it.
 * When that one is given up, the table goes on to the hold before, if that has it too, and is released otherwise.
 */
final class PinnedRuns implements AutoCloseable {

    /** Guards the chain. */
    private final Object chain;
    private final List<Run> runs;
    /** No table of a greater number is among the runs. */
    private final long newestTable;
    private PinnedRuns older;
    private PinnedRuns newer;
    /** Tables that this hold may have, and no newer one has. */
    private final List<Table> last = new ArrayList<>();

    private PinnedRuns(Object chain, List<Run> runs, long newestTable) {
        this.chain = chain;
        this.runs = List.copyOf(runs);
        this.newestTable = newestTable;
    }

    /** Holds the first runs of a store. */
    static PinnedRuns first(List<Run> runs) {
        List<Table> tables = Run.tables(runs);
        tables.forEach(Table::retain);
        return new PinnedRuns(new Object(), runs, newest(tables, 0));
    }

    private static long newest(List<Table> tables, long before) {
        return Math.max(before, tables.stream().mapToLong(Table::id).max().orElse(0));
    }

    /** Prepares the hold that is to follow this one, the newest. */
    PinnedRuns next(List<Run> changed, List<Table> added) {
        return new PinnedRuns(chain, changed, newest(added, newestTable));
    }

    /** Makes a prepared hold the newest one. This one is still to be closed. */
    void follow(PinnedRuns next, List<Table> added, List<Table> removed) {
        synchronized (chain) {
            last.addAll(removed);
            for (Table table : added) {
                table.retain();
            }
            next.older = this;
            newer = next;
        }
    }

    /** Holds the same runs once more; this hold must not be closed yet. */
    PinnedRuns again() {
        PinnedRuns same = new PinnedRuns(chain, runs, newestTable);
        synchronized (chain) {
            same.newer = this;
            same.older = older;
            if (older != null) {
                older.newer = same;
            }
            older = same;
        }
        return same;
    }

    /** Newest first. */
    List<Run> runs() {
        return runs;
    }

    @Override
    public void close() {
        synchronized (chain) {
            if (newer == null) {
                last.addAll(Run.tables(runs));
            } else {
                newer.older = older;
            }
            if (older != null) {
                older.newer = newer;
            }
            for (Table table : last) {
                if (older != null && table.id() <= older.newestTable) {
                    older.last.add(table);
                } else {
                    table.release();
                }
            }
        }
    }
}
