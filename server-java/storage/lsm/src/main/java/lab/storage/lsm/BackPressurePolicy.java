package lab.storage.lsm;

import lab.storage.lsm.compaction.CompactionPolicy;
import lab.storage.lsm.memory.MemoryBudget;

/** Decides when background work stops resting and how much writers are slowed down, so that they rarely have to wait. */
final class BackPressurePolicy {

    /** So little room, in memtables, may be left before a flush stops resting, and before writers are slowed down. */
    private static final double HURRY_ROOM = 0.75;
    private static final double SLOW_ROOM = 0.5;
    private static final double LEAST_BYTES_PER_S = 1 << 20;
    private static final double NS_PER_S = 1e9;
    /** Writers may write this much per second for each run that is missing to the most. */
    private static final double BYTES_PER_S_A_RUN = 8 << 20;

    private final WriteThrottle throttle;
    private final long thresholdBytes;
    private final int mostFrozen;
    private final MemoryBudget memory;
    private final int slowRuns;
    private final int mostRuns;

    /**
     * @param memory says how many memtables there may be
     * @param policy null if nothing is merged in the background, so that there is no bound on runs
     */
    BackPressurePolicy(WriteThrottle throttle, long thresholdBytes, MemoryBudget memory, CompactionPolicy policy) {
        this.throttle = throttle;
        this.thresholdBytes = thresholdBytes;
        this.mostFrozen = memory.memtables() - 1;
        this.memory = memory;
        this.slowRuns = policy == null ? Integer.MAX_VALUE : policy.slowRuns();
        this.mostRuns = policy == null ? Integer.MAX_VALUE : policy.mostRuns();
    }

    /** Whether there are so many runs that writers must wait. */
    boolean tooManyRuns(View view) {
        return view.level0Runs() >= mostRuns;
    }

    /** Whether writers will soon need the memory of the memtable that is being flushed. */
    boolean flushIsUrgent(View view) {
        return !view.frozen.isEmpty() && room(view) < HURRY_ROOM;
    }

    /** What writers may still fill before a flush must be done, in memtables. */
    private double room(View view) {
        int places = memory.hasRoomForMemtable() ? mostFrozen - view.frozen.size() : 0;
        return Math.max(0, 1 - view.active.fill()) + places;
    }

    /**
     * Slows writers to what leaves room until a flush is done.
     *
     * @param done      share of the memtable that is written
     * @param elapsedNs time that it took
     */
    void flushProgress(View view, double done, long elapsedNs) {
        double room = room(view);
        if (room > SLOW_ROOM || done <= 0) {
            return;
        }
        double roomBytes = room * thresholdBytes;
        double leftNs = elapsedNs / done * (1 - Math.min(1, done)) + 1;
        throttle.limit(Math.max(LEAST_BYTES_PER_S, roomBytes / leftNs * NS_PER_S));
    }

    /** Slows writers when merging is behind, and lets them go when it is not. */
    void changed(View view) {
        int fresh = view.level0Runs();
        throttle.limit(fresh < slowRuns ? 0 : Math.max(1, mostRuns - fresh) * BYTES_PER_S_A_RUN);
    }
}
