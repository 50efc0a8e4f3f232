package lab.server.execution;

import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * A fixed number of threads behind a bounded queue. The thread that reads a request hands it over and goes on; the
 * thread that handles it writes the answer.
 *
 * <p>A job is queued as it is, so a hand-off allocates nothing with {@link QueueKind#ARRAY}, and a list node with the
 * others. With a deadline one more thread looks for jobs that have waited too long, so that they are answered even if
 * every worker is held up.
 */
final class Pool implements Execution {

    private static final int CHECKS_A_DEADLINE = 4;

    private final ExecutionSettings settings;
    private final BlockingQueue<Job> queue;
    private final List<Thread> workers = new ArrayList<>();
    private final Thread watch;
    private final long deadlineNanos;
    private final LongAdder expired = new LongAdder();
    private volatile boolean closed;

    Pool(ExecutionSettings settings) {
        this.settings = settings;
        queue = settings.queue().create(settings.queueSize());
        deadlineNanos = TimeUnit.MILLISECONDS.toNanos(settings.deadlineMs());
        WorkerNames names = new WorkerNames();
        for (int i = 0; i < settings.threads(); i++) {
            workers.add(names.newThread(this::work));
        }
        watch = deadlineNanos == 0 ? null : new Thread(this::watch, "deadline");
        workers.forEach(Thread::start);
        if (watch != null) {
            watch.setDaemon(true);
            watch.start();
        }
    }

    @Override
    public boolean execute(Job job) {
        if (deadlineNanos > 0) {
            job.waitsSince(System.nanoTime());
        }
        return queue.offer(job);
    }

    private void work() {
        while (true) {
            Job job;
            try {
                job = queue.take();
            } catch (InterruptedException e) {
                // Nobody interrupts a worker on purpose: an interrupt would close the files that it works on.
                continue;
            }
            if (job == Stop.STOP) {
                return;
            }
            if (isLate(job)) {
                expire(job);
            } else {
                job.handle();
            }
        }
    }

    private boolean isLate(Job job) {
        return deadlineNanos > 0 && System.nanoTime() - job.waitsSince() >= deadlineNanos;
    }

    private void expire(Job job) {
        expired.increment();
        job.expire();
    }

    private void watch() {
        while (!closed) {
            LockSupport.parkNanos(deadlineNanos / CHECKS_A_DEADLINE);
            for (Job oldest = oldest(); oldest != null && oldest != Stop.STOP && isLate(oldest); oldest = oldest()) {
                if (queue.remove(oldest)) {
                    expireOrServe(oldest);
                }
            }
        }
    }

    /** A worker may have served the request meanwhile and its connection may have queued the next one. */
    private void expireOrServe(Job removed) {
        if (isLate(removed)) {
            expire(removed);
        } else {
            removed.handle();
        }
    }

    private Job oldest() {
        return queue instanceof Deque<Job> stack ? stack.peekLast() : queue.peek();
    }

    @Override
    public int queueDepth() {
        return queue.size();
    }

    @Override
    public long expired() {
        return expired.sum();
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("execution", ExecutionKind.POOL.toString());
        all.put("pool_threads", settings.threads());
        all.put("queue", settings.queue().toString());
        all.put("queue_size", settings.queueSize());
        all.put("deadline_ms", settings.deadlineMs());
        return all;
    }

    @Override
    public void close() {
        closed = true;
        for (int i = 0; i < workers.size(); i++) {
            uninterruptibly(() -> queue.put(Stop.STOP));
        }
        for (Thread worker : workers) {
            uninterruptibly(worker::join);
        }
        // A stack shows the sign to stop before what lies under it.
        for (Job left = queue.poll(); left != null; left = queue.poll()) {
            expire(left);
        }
    }

    private interface Wait {
        void run() throws InterruptedException;
    }

    private static void uninterruptibly(Wait wait) {
        boolean interrupted = false;
        while (true) {
            try {
                wait.run();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Tells a worker to end. */
    private enum Stop implements Job {
        STOP;

        @Override
        public void handle() {
            // Nothing to do.
        }

        @Override
        public void expire() {
            // Nobody waits for it.
        }

        @Override
        public void refuse() {
            // Waits for room instead.
        }

        @Override
        public void waitsSince(long nanos) {
            // Never late.
        }

        @Override
        public long waitsSince() {
            return System.nanoTime();
        }
    }
}
