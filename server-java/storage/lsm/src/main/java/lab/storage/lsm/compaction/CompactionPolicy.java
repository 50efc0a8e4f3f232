package lab.storage.lsm.compaction;

import java.util.List;
import java.util.Set;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/** Says what is to be merged next. For one thread at a time. */
public interface CompactionPolicy {

    /**
     * The next merge that is due, or null. Newer runs come first, for writers wait for them. Damaged tables are left
     * where they are.
     *
     * @param busy tables that are being merged
     */
    CompactionPlan next(List<Run> runs, Set<Table> busy);

    /** So many runs of level 0 slow writers down. */
    int slowRuns();

    /** With so many runs of level 0 writers wait. */
    int mostRuns();

    /** The policy for a setting; null if nothing is merged in the background. */
    static CompactionPolicy of(LsmOptions options) {
        return switch (options.compaction()) {
            case OFF -> null;
            case SIZE_TIERED -> new SizeTiered();
            case LEVELED -> new Leveled(options.flushThresholdBytes());
        };
    }

    /** Merges everything into one run. */
    static CompactionPlan everything(List<Run> runs, boolean leveled) {
        int deepest = runs.isEmpty() ? 0 : runs.getLast().level();
        return new CompactionPlan(runs, leveled ? Math.max(1, deepest) : deepest, true);
    }
}
