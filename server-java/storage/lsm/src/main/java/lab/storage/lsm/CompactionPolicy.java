package lab.storage.lsm;

import java.util.List;

/** Says what is to be merged next. For one thread. */
interface CompactionPolicy {

    /** A run of so many dead entries among its entries is worth a merge of everything, when there is nothing else to do. */
    double DEAD_SHARE = 0.1;

    /** The next merge that is due, or null. */
    CompactionPlan next(View view);

    /** The merge of everything. */
    CompactionPlan all(View view);

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
    static CompactionPlan everything(View view, boolean leveled) {
        int deepest = view.runs.isEmpty() ? 0 : view.runs.getLast().level();
        return new CompactionPlan(view.runs, leveled ? Math.max(1, deepest) : deepest, true);
    }

    /** Whether so many of the entries are dead that merging everything would give back a good part of the disk. */
    static boolean worthRepair(List<Table> tables) {
        long entries = 0;
        long dead = 0;
        for (Table table : tables) {
            entries += table.entries();
            dead += table.oldEntries() + table.tombstones();
        }
        return dead > entries * DEAD_SHARE;
    }
}
