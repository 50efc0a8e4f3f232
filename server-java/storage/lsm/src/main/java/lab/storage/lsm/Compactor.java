package lab.storage.lsm;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread that merges tables. A failed merge leaves the tables as they are and is tried again a little later. */
final class Compactor implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Compactor.class);
    private static final int NICE = 10;
    /** While nobody waits it takes a third of a core. */
    private static final int RESTS_PER_WORK = 2;
    /** So long after the last flush the store counts as idle. */
    private static final long IDLE_MS = 3_000;
    private static final long RETRY_MS = 1_000;

    private final Tree tree;
    private final StoreFolder folder;
    private final LsmOptions options;
    private final Counters counters;
    private final CompactionPolicy policy;
    /** Not a semaphore: a profiler counts who is parked on one as waiting for a lock, and this thread is idle. */
    private final BlockingQueue<Boolean> work = new ArrayBlockingQueue<>(1);
    private final Thread thread = new Thread(this::run, "lsm-compact");
    private volatile boolean closing;
    private volatile boolean failed;
    private volatile int waiting;

    /**
     * @param policy null if nothing is merged in the background
     */
    Compactor(Tree tree, StoreFolder folder, LsmOptions options, Counters counters, CompactionPolicy policy) {
        this.tree = tree;
        this.folder = folder;
        this.options = options;
        this.counters = counters;
        this.policy = policy;
        thread.setDaemon(true);
    }

    void start() {
        if (policy != null) {
            thread.start();
            wake();
        }
    }

    /** Says that there may be something to merge. */
    void wake() {
        work.offer(Boolean.TRUE);
    }

    private void run() {
        NativeMemory.runInBackground(NICE);
        while (!closing) {
            try {
                if (work.poll(failed ? RETRY_MS : IDLE_MS, TimeUnit.MILLISECONDS) == null && !failed) {
                    repair();
                    continue;
                }
                while (!closing && compactOnce()) {
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

    private void succeeded() {
        if (failed) {
            failed = false;
            tree.failed(null);
        }
    }

    /** Nothing may end this thread, not even a lack of memory to say why. */
    private void failed(Throwable cause) {
        try {
            failed = true;
            LOG.error("Tables cannot be merged; they stay as they are, and it is tried again in {} ms", RETRY_MS, cause);
            if (tree.peek().freshRuns() >= policy.mostRuns()) {
                tree.failed(Failure.of("The store cannot merge its tables", cause));
            }
        } catch (OutOfMemoryError e) {
            // The next attempt says it.
        }
    }

    private synchronized boolean compactOnce() throws IOException {
        return merge(policy::next);
    }

    /** When nothing was written for a while, gives back the room of what is dead. */
    private synchronized void repair() throws IOException {
        merge(view -> CompactionPolicy.worthRepair(view.tables()) ? policy.all(view) : null);
    }

    /** Merges everything into one run, without deletes. */
    void compactAll() {
        waiting++;
        try {
            synchronized (this) {
                merge(view -> view.runs.isEmpty() ? null
                        : CompactionPolicy.everything(view, options.compaction() == LsmOptions.Compaction.LEVELED));
            }
        } catch (IOException e) {
            throw Failure.of("The tables cannot be merged", e);
        } finally {
            waiting--;
        }
    }

    /** How to choose what is merged. */
    private interface Choice {
        CompactionPlan of(View view);
    }

    private boolean merge(Choice choice) throws IOException {
        while (true) {
            View view = tree.peek();
            int held = view.lease.enter();
            if (held == Lease.RETIRED) {
                Thread.onSpinWait();
                continue;
            }
            CompactionPlan plan;
            List<Table> tables;
            try {
                plan = choice.of(view);
                if (plan == null) {
                    return false;
                }
                // Holding the view would keep its memtables as long as the merge takes.
                tables = view.tables();
                tables.forEach(Table::retain);
            } finally {
                view.lease.exit(held);
            }
            try {
                return execute(view, plan);
            } finally {
                tables.forEach(Table::release);
            }
        }
    }

    private boolean execute(View view, CompactionPlan plan) throws IOException {
        if (plan.isMove()) {
            Table moved = plan.tables().getFirst();
            moved.retain();
            tree.compacted(plan, List.of(moved));
            return true;
        }
        CompactionEvent event = new CompactionEvent();
        event.begin();
        List<Table> old = plan.tables();
        event.tables = old.size();
        for (Table table : old) {
            event.bytesRead += table.sizeBytes();
        }
        Pace pace = new Pace(options.compactionRateBytes(), RESTS_PER_WORK, this::isUrgent, bytes -> { });
        List<EntryCursor> sources = plan.inputs().stream().map(run -> run.cursor(null, null)).toList();
        List<Table> merged = folder.write(new MergeCursor(sources, plan.dropTombstones()), plan.older(view), pace,
                () -> closing);
        if (closing) {
            StoreFolder.discard(merged);
            return false;
        }
        for (Table table : merged) {
            event.bytes += table.sizeBytes();
            event.entries += table.entries();
        }
        try {
            tree.compacted(plan, merged);
        } catch (IOException | RuntimeException e) {
            StoreFolder.discard(merged);
            throw e;
        }
        counters.compactions.increment();
        counters.compactionReadBytes.add(event.bytesRead);
        counters.compactionWrittenBytes.add(event.bytes);
        event.commit();
        return true;
    }

    private boolean isUrgent() {
        return waiting > 0 || policy != null && tree.peek().freshRuns() >= policy.slowRuns();
    }

    @Override
    public void close() {
        closing = true;
        wake();
        if (policy != null) {
            Threads.joinUninterruptibly(thread);
        }
    }
}
