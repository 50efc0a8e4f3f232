package lab.storage.lsm.compaction;

import java.util.List;
import java.util.Set;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * Merges runs of similar size. Only runs that are neighbours in age may be merged, or an older version of a key would
 * come to lie above a newer one.
 *
 * <p>At least {@link #MIN_RUNS} neighbours are merged when each is at most {@link #SIZE_RATIO} times as large as all
 * newer ones of them together. So sizes grow like powers of two and each entry is rewritten a logarithmic number of
 * times. If sizes never fit, the newer half is merged once there are {@link #MAX_RUNS}, which bounds what a read has to
 * look into.
 */
final class SizeTiered implements CompactionPolicy {

    static final int MIN_RUNS = 4;
    static final int MAX_RUNS = 12;
    static final double SIZE_RATIO = 1.5;
    private static final int SLOW_RUNS = 16;
    private static final int MOST_RUNS = 24;

    /**
     * Runs from one position to another.
     *
     * @param from first one, counted from the newest
     * @param to   the one after the last
     */
    record Choice(int from, int to) {
    }

    /**
     * @param sizesBytes sizes of the runs, newest first
     * @return what to merge, or null
     */
    static Choice choose(List<Long> sizesBytes) {
        for (int from = 0; from + MIN_RUNS <= sizesBytes.size(); from++) {
            long together = sizesBytes.get(from);
            int to = from + 1;
            while (to < sizesBytes.size() && sizesBytes.get(to) <= together * SIZE_RATIO) {
                together += sizesBytes.get(to++);
            }
            if (to - from >= MIN_RUNS) {
                return new Choice(from, to);
            }
        }
        return sizesBytes.size() >= MAX_RUNS ? new Choice(0, sizesBytes.size() / 2) : null;
    }

    @Override
    public CompactionPlan next(List<Run> runs, Set<Table> busy) {
        return among(runs, busy, true);
    }

    /**
     * Chooses among runs that are to stay at their level.
     *
     * @param oldest whether nothing lies under them
     */
    static CompactionPlan among(List<Run> runs, Set<Table> busy, boolean oldest) {
        int from = 0;
        while (from < runs.size()) {
            int to = from;
            while (to < runs.size() && isFree(runs.get(to), busy)) {
                to++;
            }
            Choice choice = choose(runs.subList(from, to).stream().map(Run::sizeBytes).toList());
            if (choice != null) {
                List<Run> inputs = runs.subList(from + choice.from(), from + choice.to());
                // A delete may go only if nothing older lies below that it could still hide.
                return new CompactionPlan(inputs, inputs.getLast().level(),
                        oldest && from + choice.to() == runs.size());
            }
            from = to + 1;
        }
        return null;
    }

    private static boolean isFree(Run run, Set<Table> busy) {
        return !run.isDamaged() && run.tables().stream().noneMatch(busy::contains);
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
