package lab.storage.lsm;

import lab.storage.lsm.compaction.CompactionPolicy;

/** Decides when background work stops resting and how much writers are slowed down, so that they rarely have to wait. */
final class Pressure {

    /** How full the next memtable may be before a flush stops resting, and before writers are slowed down. */
    private static final double HURRY_FILL = 0.25;
    private static final double SLOW_FILL = 0.5;
    private static final double LEAST_BYTES_PER_S = 1 << 20;
    private static final double NS_PER_S = 1e9;
    /** Writers may write this much a second for each run that is missing to the most. */
    private static final double BYTES_PER_S_A_RUN = 8 << 20;

    private final Throttle throttle;
    private final long thresholdBytes;
    private final int slowRuns;
    private final int mostRuns;

    /**
     * @param policy null if nothing is merged in the background, so that there is no bound on runs
     */
    Pressure(Throttle throttle, long thresholdBytes, CompactionPolicy policy) {
        this.throttle = throttle;
        this.thresholdBytes = thresholdBytes;
        this.slowRuns = policy == null ? Integer.MAX_VALUE : policy.slowRuns();
        this.mostRuns = policy == null ? Integer.MAX_VALUE : policy.mostRuns();
    }

    /** Whether there are so many runs that writers must wait. */
    boolean tooManyRuns(View view) {
        return view.freshRuns() >= mostRuns;
    }

    /** Whether writers will soon need the memory of the memtable that is being flushed. */
    boolean flushIsUrgent(View view) {
        return view.frozen != null && view.active.fill() > HURRY_FILL;
    }

    /**
     * Slows writers to what leaves room until a flush is done.
     *
     * @param done      share of the memtable that is written
     * @param elapsedNs time that it took
     */
    void flushProgress(View view, double done, long elapsedNs) {
        double fill = view.active.fill();
        if (fill < SLOW_FILL || done <= 0) {
            return;
        }
        double roomBytes = Math.max(0, 1 - fill) * thresholdBytes;
        double leftNs = elapsedNs / done * (1 - Math.min(1, done)) + 1;
        throttle.limit(Math.max(LEAST_BYTES_PER_S, roomBytes / leftNs * NS_PER_S));
    }

    /** Slows writers when merging is behind, and lets them go when it is not. */
    void changed(View view) {
        int fresh = view.freshRuns();
        throttle.limit(fresh < slowRuns ? 0 : Math.max(1, mostRuns - fresh) * BYTES_PER_S_A_RUN);
    }
}
