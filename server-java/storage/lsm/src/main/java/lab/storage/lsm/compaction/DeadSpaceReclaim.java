package lab.storage.lsm.compaction;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * Chooses what an idle store merges to give back the room of dead entries: a range of keys as wide as one table of the
 * run that has the most, in which there are more dead entries than in any other. So each merge is short, gives way at
 * once when there is something else to do, and what the ones before it gave back stays.
 */
final class DeadSpaceReclaim {

    /** A larger share of dead entries is worth a merge, when there is nothing else to do. */
    private static final double DEAD_SHARE = 0.1;

    private DeadSpaceReclaim() {
    }

    private static long dead(Table table) {
        return table.oldEntries() + table.tombstones();
    }

    /** Whether so many of the entries are dead that a good part of the disk would be given back. */
    private static boolean isWorthIt(List<Run> runs) {
        long entries = 0;
        long dead = 0;
        for (Table table : Run.tables(runs)) {
            entries += table.entries();
            dead += dead(table);
        }
        return dead > entries * DEAD_SHARE;
    }

    /**
     * The next merge, or null if there is none that pays.
     *
     * @param busy tables that are being merged
     */
    static CompactionPlan next(List<Run> runs, Set<Table> busy) {
        if (!isWorthIt(runs)) {
            return null;
        }
        List<Table> ranges = runs.stream().map(Run::tables).max((a, b) -> Integer.compare(a.size(), b.size()))
                .orElseThrow();
        double[] dead = deadOf(runs, ranges);
        while (true) {
            int most = 0;
            for (int i = 1; i < dead.length; i++) {
                most = dead[i] > dead[most] ? i : most;
            }
            if (dead[most] <= 0) {
                return null;
            }
            CompactionPlan plan = plan(runs, ranges, most);
            if (plan.tables().stream().noneMatch(table -> busy.contains(table) || table.isDamaged())) {
                return plan;
            }
            dead[most] = 0;
        }
    }

    /** Estimates the dead entries of each range, taking those of a table as spread evenly. */
    private static double[] deadOf(List<Run> runs, List<Table> ranges) {
        double[] dead = new double[ranges.size()];
        for (Table table : Run.tables(runs)) {
            int first = rangeOf(ranges, table.firstKey());
            int last = rangeOf(ranges, table.lastKey());
            for (int i = first; i <= last; i++) {
                dead[i] += (double) dead(table) / (last - first + 1);
            }
        }
        return dead;
    }

    /** A range begins with the first key of its table; the first one also has what comes before. */
    private static int rangeOf(List<Table> ranges, byte[] key) {
        int low = 1;
        int high = ranges.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (Arrays.compareUnsigned(ranges.get(middle).firstKey(), key) <= 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    private static CompactionPlan plan(List<Run> runs, List<Table> ranges, int range) {
        byte[] from = range == 0 ? null : ranges.get(range).firstKey();
        byte[] to = range + 1 == ranges.size() ? null : ranges.get(range + 1).firstKey();
        List<Run> inputs = new ArrayList<>();
        for (Run run : runs) {
            List<Table> touched = run.tables().stream().filter(table -> table.overlaps(from, to)).toList();
            if (!touched.isEmpty()) {
                inputs.add(new Run(run.level(), touched));
            }
        }
        return new CompactionPlan(inputs, inputs.getLast().level(), true, from, to);
    }
}
