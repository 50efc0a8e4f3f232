package lab.server.execution;

import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;

/**
 * A fixed number of threads behind a bounded queue. The thread that reads a request hands it over and goes on; the
 * thread that handles it writes the response.
 *
 * <p>A job is queued as it is, so a hand-off allocates nothing with {@link QueueKind#ARRAY}, and a list node with the
 * others.
 */
final class Pool implements Execution {

    private final ExecutionSettings settings;
    private final BlockingQueue<Job> queue;
    private final List<Thread> workers = new ArrayList<>();
    private final Deadline deadline;

    Pool(ExecutionSettings settings) {
        this.settings = settings;
        queue = settings.queue().create(settings.queueSize());
        deadline = new Deadline(settings.deadlineMs());
        WorkerNames names = new WorkerNames();
        for (int i = 0; i < settings.threads(); i++) {
            workers.add(names.newThread(this::work));
        }
        workers.forEach(Thread::start);
        deadline.watch(new InQueue());
    }

    @Override
    public boolean execute(Job job) {
        deadline.begins(job);
        return queue.offer(job);
    }

    private void work() {
        while (true) {
            try {
                Job job = queue.take();
                if (job == Stop.STOP) {
                    return;
                }
                serve(job);
            } catch (InterruptedException e) {
                // Nobody interrupts a worker on purpose: an interrupt would close the files that it works on.
            } catch (Throwable e) {
                Survival.log(e);
            }
        }
    }

    private void serve(Job job) {
        if (!deadline.expires(job)) {
            job.handle();
        }
    }

    @Override
    public int queueDepth() {
        return queue.size();
    }

    @Override
    public long expired() {
        return deadline.expired();
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
        deadline.close();
        for (int i = 0; i < workers.size(); i++) {
            uninterruptibly(() -> queue.put(Stop.STOP));
        }
        for (Thread worker : workers) {
            uninterruptibly(worker::join);
        }
        // A stack shows the sign to stop before what lies under it.
        for (Job left = queue.poll(); left != null; left = queue.poll()) {
            deadline.expire(left);
        }
    }

    private final class InQueue implements Deadline.Waiting {

        @Override
        public Job oldest() {
            return queue instanceof Deque<Job> stack ? stack.peekLast() : queue.peek();
        }

        @Override
        public boolean remove(Job job) {
            return queue.remove(job);
        }

        @Override
        public void removed(Job job) {
            serve(job);
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
