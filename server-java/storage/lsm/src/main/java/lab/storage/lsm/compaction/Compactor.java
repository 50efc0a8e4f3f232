package lab.storage.lsm.compaction;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import lab.storage.StorageException;
import lab.storage.lsm.background.BackgroundPacer;
import lab.storage.lsm.background.Failure;
import lab.storage.lsm.background.Threads;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.MergeCursor;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads that merge tables: one takes only what was flushed lately, for which writers wait, the other all there is,
 * and when there is nothing, gives back the room of dead entries and checks tables. A failed merge leaves the tables as
 * they are. If a table of it is damaged, it is left out from then on; otherwise it is tried again, ever later.
 */
public final class Compactor implements AutoCloseable {

    /** The runs of a store, as far as merging them goes. */
    public interface Target {

        /** Returns the current runs, newest first, for a glance. */
        List<Run> runs();

        /** Holds the current runs. */
        Pin pin();

        /**
         * Puts tables in the place of those that were merged. Takes the caller's references to the new ones.
         *
         * @param rests for each input of the plan what it had outside the plan's range; empty if there is none
         * @throws IOException if the manifest names none of them; after any other failure it may
         */
        void compacted(CompactionPlan plan, List<Table> merged, List<List<Table>> rests) throws IOException;

        /** Says that the background could not write, or with null that it can again. */
        void failed(StorageException failure);
    }

    /**
     * Runs that stay as long as this is open.
     *
     * @param runs     newest first
     * @param giveBack lets them go
     */
    public record Pin(List<Run> runs, Runnable giveBack) implements AutoCloseable {

        @Override
        public void close() {
            giveBack.run();
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(Compactor.class);
    private static final int NICE = 10;
    /** While nobody waits they take a third of a core each. */
    private static final int RESTS_PER_WORK = 2;
    /** So long after the last flush the store counts as idle. */
    private static final long IDLE_MS = 3_000;
    private static final long FIRST_RETRY_MS = 1_000;
    private static final long LAST_RETRY_MS = 16_000;
    /** A merge of more memtables than that is not done by the thread for what was flushed lately. */
    private static final int FRESH_THRESHOLDS = 8;

    private final Target target;
    private final StoreFolder folder;
    private final LsmOptions options;
    private final CompactionPolicy policy;
    private final Worker fresh = new Worker("lsm-compact-fresh", 0, this::fresh, () -> { });
    private final Worker deep = new Worker("lsm-compact", NICE, this::due, this::idle);
    private final Scrubber scrubber = new Scrubber();
    /** Held while it is chosen what is merged. */
    private final Object choosing = new Object();
    /** Tables that are being merged. Guarded by {@link #choosing}. */
    private final Set<Table> busy = new HashSet<>();
    private volatile boolean closing;
    private volatile int waiting;
    /** Held by the one who merges everything; taken before {@link #choosing}. */
    private final Object mergingAll = new Object();
    /** Somebody waits until nothing is merged, to merge everything; meanwhile nothing is begun. */
    private volatile boolean choosingAll;
    /** Changed by each flush. */
    private volatile int wakes;

    /**
     * @param policy null if nothing is merged in the background
     */
    public Compactor(Target target, StoreFolder folder, LsmOptions options, CompactionPolicy policy) {
        this.target = target;
        this.folder = folder;
        this.options = options;
        this.policy = policy;
    }

    /** Starts the threads, if anything is merged in the background. */
    public void start() {
        if (policy != null) {
            fresh.start();
            deep.start();
        }
    }

    /** Says that there may be something to merge. */
    public void wake() {
        wakes++;
        fresh.wake();
        deep.wake();
    }

    /** How to choose what is merged. */
    private interface Choice {
        /** What is to be merged of some runs, or null. */
        CompactionPlan of(List<Run> runs);
    }

    private CompactionPlan due(List<Run> runs) {
        return choosingAll ? null : policy.next(runs, busy);
    }

    /** A merge that is soon done, so that this thread is there for the next flush; any that is due if there are too many runs. */
    private CompactionPlan fresh(List<Run> runs) {
        CompactionPlan plan = due(runs);
        boolean soonDone = plan != null && plan.inputs().getFirst().level() == 0
                && (plan.outputLevel() > 0 || plan.bytes() <= FRESH_THRESHOLDS * options.flushThresholdBytes()
                        || Run.level0(runs) >= policy.slowRuns());
        return soonDone ? plan : null;
    }

    /** When nothing was written for a while, gives back the room of what is dead, and looks for damage. */
    private void idle() throws IOException {
        int before = wakes;
        while (merge(runs -> choosingAll ? null : DeadSpaceReclaim.next(runs, busy), () -> wakes != before)) {
            // One range after the other.
        }
        try (Pin hold = target.pin()) {
            scrubber.step(hold.runs());
        }
    }

    /** Merges everything into one run, without deletes. What is flushed meanwhile is merged at the same time. */
    public void compactAll() {
        synchronized (mergingAll) {
            mergeAll();
        }
    }

    private void mergeAll() {
        try {
            synchronized (choosing) {
                waiting++;
                choosingAll = true;
                awaitOthers();
            }
            merge(runs -> {
                choosingAll = false;
                return runs.isEmpty() ? null
                        : CompactionPolicy.everything(runs, options.compaction() == LsmOptions.Compaction.LEVELED);
            }, () -> false);
        } catch (IOException e) {
            throw Failure.of("The tables cannot be merged", e, "DeadSpaceReclaim the disk and try again.");
        } finally {
            synchronized (choosing) {
                waiting--;
                choosingAll = false;
                choosing.notifyAll();
            }
            wake();
        }
    }

    private void awaitOthers() {
        boolean interrupted = false;
        while (!busy.isEmpty()) {
            try {
                choosing.wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Merges once.
     *
     * @param giveUp whether it is to end without a result
     * @return whether there was something to merge
     */
    private boolean merge(Choice choice, BooleanSupplier giveUp) throws IOException {
        Pin hold;
        CompactionPlan plan;
        synchronized (choosing) {
            hold = target.pin();
            try {
                plan = choice.of(hold.runs());
            } catch (Throwable e) {
                hold.close();
                throw e;
            }
            if (plan == null) {
                hold.close();
                return false;
            }
            busy.addAll(plan.tables());
        }
        try {
            return execute(hold.runs(), plan, giveUp);
        } finally {
            synchronized (choosing) {
                plan.tables().forEach(busy::remove);
                choosing.notifyAll();
            }
            hold.close();
        }
    }

    private boolean execute(List<Run> runs, CompactionPlan plan, BooleanSupplier giveUp) throws IOException {
        if (plan.isMove()) {
            Table moved = plan.tables().getFirst();
            moved.retain();
            commit(plan, List.of(moved), List.of());
            return true;
        }
        CompactionEvent event = new CompactionEvent();
        event.begin();
        event.tables = plan.tables().size();
        event.bytesRead = plan.bytes();
        Stop stop = new Stop(giveUp);
        List<Table> written = new ArrayList<>();
        List<Table> merged;
        List<List<Table>> rests = new ArrayList<>();
        try {
            merged = write(new MergeCursor(plan.inputs().stream()
                    .map(run -> run.verifiedCursor(plan.from(), plan.to())).toList(), plan.dropTombstones()),
                    CompactionPlan.older(runs, plan.inputs().getLast()), stop, written);
            for (Run input : plan.isPart() ? plan.inputs() : List.<Run>of()) {
                rests.add(rest(runs, plan, input, stop, written));
            }
        } catch (IOException | RuntimeException | Error e) {
            StoreFolder.discard(written);
            throw e;
        }
        if (stop.stopped) {
            StoreFolder.discard(written);
            return false;
        }
        for (Table table : written) {
            event.bytes += table.sizeBytes();
            event.entries += table.entries();
        }
        commit(plan, merged, rests);
        event.commit();
        return true;
    }

    private List<Table> rest(List<Run> runs, CompactionPlan plan, Run input, Stop stop, List<Table> written)
            throws IOException {
        Run outside = plan.outside(input);
        if (outside.tables().isEmpty()) {
            return List.of();
        }
        List<EntryCursor> sides = new ArrayList<>();
        if (plan.from() != null) {
            sides.add(outside.verifiedCursor(null, plan.from()));
        }
        if (plan.to() != null) {
            sides.add(outside.verifiedCursor(plan.to(), null));
        }
        return write(new MergeCursor(sides, false), CompactionPlan.older(runs, input), stop, written);
    }

    private List<Table> write(MergeCursor entries, List<Run> older, Stop stop, List<Table> written)
            throws IOException {
        BackgroundPacer pace = new BackgroundPacer(options.compactionRateBytes(), RESTS_PER_WORK, this::isUrgent, bytes -> { });
        List<Table> tables = folder.write(entries, older, pace, stop);
        written.addAll(tables);
        return tables;
    }

    /** Whether a merge is to end without a result; once it is, it stays so. */
    private final class Stop implements BooleanSupplier {

        private final BooleanSupplier giveUp;
        private boolean stopped;

        Stop(BooleanSupplier giveUp) {
            this.giveUp = giveUp;
        }

        @Override
        public boolean getAsBoolean() {
            stopped |= closing || giveUp.getAsBoolean();
            return stopped;
        }
    }

    private void commit(CompactionPlan plan, List<Table> merged, List<List<Table>> rests) throws IOException {
        List<Table> tables = new ArrayList<>(merged);
        rests.forEach(tables::addAll);
        try {
            target.compacted(plan, merged, rests);
        } catch (IOException e) {
            if (plan.isMove()) {
                tables.forEach(Table::release);
            } else {
                StoreFolder.discard(tables);
            }
            throw e;
        } catch (RuntimeException | Error e) {
            // The manifest may name the files: they stay, and if it does not, the next start removes them.
            tables.forEach(Table::release);
            throw e;
        }
    }

    private boolean isUrgent() {
        return waiting > 0 || policy != null && Run.level0(target.runs()) >= policy.slowRuns();
    }

    @Override
    public void close() {
        closing = true;
        if (policy != null) {
            fresh.close();
            deep.close();
        }
    }

    /** Work that may fail. */
    private interface Idle {
        void run() throws IOException;
    }

    /** One of the threads. */
    private final class Worker {

        private final Choice choice;
        private final Idle idle;
        private final Thread thread;
        private final int nice;
        /** Not a semaphore: a profiler counts who is parked on one as waiting for a lock, and this thread is idle. */
        private final BlockingQueue<Boolean> work = new ArrayBlockingQueue<>(1);
        private long retryMs;

        Worker(String name, int nice, Choice choice, Idle idle) {
            this.nice = nice;
            this.choice = choice;
            this.idle = idle;
            this.thread = new Thread(this::run, name);
            thread.setDaemon(true);
        }

        void start() {
            wake();
            thread.start();
        }

        void wake() {
            work.offer(Boolean.TRUE);
        }

        private void run() {
            Threads.runInBackground(nice);
            while (!closing) {
                try {
                    if (isIdle()) {
                        idle.run();
                        continue;
                    }
                    while (!closing && !choosingAll && mergeOrLeaveOut()) {
                        // One merge may make the next one due.
                    }
                    succeeded();
                } catch (InterruptedException e) {
                    // Nobody interrupts this thread: that would close the file it writes to.
                } catch (IOException | RuntimeException | Error e) {
                    failed(e);
                }
            }
        }

        /** Waits for something to do. After a failure it waits longer each time, whoever calls. */
        private boolean isIdle() throws InterruptedException {
            if (retryMs == 0) {
                return work.poll(IDLE_MS, TimeUnit.MILLISECONDS) == null;
            }
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(retryMs);
            for (long left = until - System.nanoTime(); left > 0 && !closing; left = until - System.nanoTime()) {
                work.poll(left, TimeUnit.NANOSECONDS);
            }
            return false;
        }

        /** A merge that meets a damaged table is given up; the next one is chosen without that table. */
        private boolean mergeOrLeaveOut() throws IOException {
            CompactionPlan[] chosen = new CompactionPlan[1];
            try {
                return merge(runs -> chosen[0] = choice.of(runs), () -> false);
            } catch (StorageException e) {
                if (chosen[0] == null || !chosen[0].isDamaged()) {
                    throw e;
                }
                LOG.warn("A merge of {} tables was given up, since one of them is damaged", chosen[0].tables().size());
                return true;
            }
        }

        private void succeeded() {
            if (retryMs > 0) {
                retryMs = 0;
                target.failed(null);
            }
        }

        /** Nothing may end this thread, not even a lack of memory to say why. */
        private void failed(Throwable cause) {
            try {
                retryMs = Math.clamp(retryMs * 2, FIRST_RETRY_MS, LAST_RETRY_MS);
                LOG.error("Tables cannot be merged; they stay as they are, and it is tried again in {} ms", retryMs,
                        cause);
                if (Run.level0(target.runs()) >= policy.mostRuns()) {
                    target.failed(Failure.of("The store cannot merge its tables", cause, Failure.RETRIED));
                }
            } catch (OutOfMemoryError e) {
                // The next attempt says it.
            }
        }

        void close() {
            wake();
            Threads.joinUninterruptibly(thread);
        }
    }
}
