package lab.storage.lsm.compaction;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * Keeps levels, each one run and each {@link #LEVEL_RATIO} times as large as the one above it (O'Neil et al.: The
 * Log-Structured Merge-Tree, 1996; the form is LevelDB's). Flushed runs are merged into level 1 when there are {@link
 * #FRESH_RUNS}; a level that is too large gives one table after the other, in turn, to the next one.
 */
final class Leveled implements CompactionPolicy {

    static final int FRESH_RUNS = 4;
    static final int LEVEL_RATIO = 10;
    private static final int SLOW_RUNS = 12;
    private static final int MOST_RUNS = 20;

    private final long firstLevelBytes;
    /** Key after which the next table of a level is taken. */
    private final Map<Integer, byte[]> turns = new HashMap<>();

    /**
     * @param flushThresholdBytes level 1 may be as large as the runs that are merged into it at once
     */
    Leveled(long flushThresholdBytes) {
        this.firstLevelBytes = flushThresholdBytes * FRESH_RUNS;
    }

    @Override
    public CompactionPlan next(List<Run> runs, Set<Table> busy) {
        int fresh = Run.level0(runs);
        CompactionPlan plan = null;
        // Two merges into the same level could overlap, so there is one at a time; meanwhile fresh runs stay few.
        boolean mayGoDown = busy.isEmpty();
        if (fresh >= FRESH_RUNS && mayGoDown) {
            plan = into(runs, runs.subList(0, fresh), 1);
        }
        if (fresh >= FRESH_RUNS && (plan == null || plan.isDamaged())) {
            plan = SizeTiered.among(runs.subList(0, fresh), busy, false);
        }
        return plan == null && mayGoDown ? deeper(runs, fresh) : plan;
    }

    private CompactionPlan deeper(List<Run> runs, int fresh) {
        long target = firstLevelBytes;
        int level = 1;
        for (Run run : runs.subList(fresh, runs.size())) {
            for (; level < run.level(); level++) {
                target *= LEVEL_RATIO;
            }
            for (int tried = 0; run.sizeBytes() > target && tried < run.tables().size(); tried++) {
                CompactionPlan plan = into(runs, List.of(new Run(level, List.of(nextInTurn(run)))), level + 1);
                if (!plan.isDamaged()) {
                    return plan;
                }
            }
        }
        return null;
    }

    private Table nextInTurn(Run run) {
        byte[] after = turns.get(run.level());
        Table chosen = run.tables().getFirst();
        if (after != null) {
            for (Table table : run.tables()) {
                if (Arrays.compareUnsigned(table.firstKey(), after) > 0) {
                    chosen = table;
                    break;
                }
            }
        }
        turns.put(run.level(), chosen.firstKey());
        return chosen;
    }

    /** Merges runs with the tables of a level that they overlap. */
    private static CompactionPlan into(List<Run> runs, List<Run> upper, int level) {
        byte[] first = null;
        byte[] last = null;
        for (Run run : upper) {
            byte[] from = run.tables().getFirst().firstKey();
            byte[] to = run.tables().getLast().lastKey();
            first = first == null || Arrays.compareUnsigned(from, first) < 0 ? from : first;
            last = last == null || Arrays.compareUnsigned(to, last) > 0 ? to : last;
        }
        List<Run> inputs = new ArrayList<>(upper);
        boolean deepest = true;
        for (Run run : runs) {
            if (run.level() == level) {
                List<Table> touched = new ArrayList<>();
                for (Table table : run.tables()) {
                    if (Arrays.compareUnsigned(table.lastKey(), first) >= 0
                            && Arrays.compareUnsigned(table.firstKey(), last) <= 0) {
                        touched.add(table);
                    }
                }
                if (!touched.isEmpty()) {
                    inputs.add(new Run(level, touched));
                }
            }
            deepest &= run.level() <= level;
        }
        boolean alone = inputs.size() == 1 && inputs.getFirst().tables().size() == 1
                && inputs.getFirst().tables().getFirst().tombstones() == 0;
        return new CompactionPlan(inputs, level, deepest && !alone);
    }

    @Override
    public int slowRuns() {
        return SLOW_RUNS;
    }

    @Override
    public int mostRuns() {
        return MOST_RUNS;
    }
}
