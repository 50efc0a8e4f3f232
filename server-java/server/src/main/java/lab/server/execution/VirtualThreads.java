package lab.server.execution;

import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import jdk.management.VirtualThreadSchedulerMXBean;

/**
 * As many virtual threads as there are requests that wait for something, and one more that is on its way to the next
 * request. A thread whose request never waited goes on with the next, so a handler that only computes costs no thread of
 * its own, and one that waits delays nobody: whoever takes a request first sends the next thread on its way.
 *
 * <p>Without a bound a slow store would gather any number of requests, so at most {@code queueSize} are under way and
 * further ones are refused.
 *
 * <p>The threads that carry them belong to the JVM, which has one set for all its virtual threads: their number is set for
 * all servers of the process.
 */
final class VirtualThreads implements Execution {

    private static final long CLOSE_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final ExecutionSettings settings;
    private final VirtualThreadSchedulerMXBean scheduler =
            ManagementFactory.getPlatformMXBean(VirtualThreadSchedulerMXBean.class);
    private final Thread.Builder threads = Thread.ofVirtual().name("request");
    private final Queue<Job> waiting = new ConcurrentLinkedQueue<>();
    /** Whether a thread was started that has not looked for a request yet. */
    private final AtomicBoolean onItsWay = new AtomicBoolean();
    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicInteger begun = new AtomicInteger();
    private final Deadline deadline;

    VirtualThreads(ExecutionSettings settings) {
        this.settings = settings;
        scheduler.setParallelism(settings.threads());
        deadline = new Deadline(settings.deadlineMs());
        deadline.watch(new Untaken());
    }

    @Override
    public boolean execute(Job job) {
        if (underWay.incrementAndGet() > settings.queueSize()) {
            underWay.decrementAndGet();
            return false;
        }
        deadline.begins(job);
        add(job);
        return true;
    }

    private void add(Job job) {
        waiting.add(job);
        sendThread();
    }

    private void sendThread() {
        if (!onItsWay.get() && onItsWay.compareAndSet(false, true)) {
            try {
                threads.start(this::work);
            } catch (Throwable e) {
                // Nobody comes, so whoever adds the next request must try again.
                onItsWay.set(false);
                throw e;
            }
        }
    }

    private void work() {
        // Before it looks: whoever adds a request after that look sends another thread.
        onItsWay.set(false);
        for (Job job = waiting.poll(); job != null; job = waiting.poll()) {
            try {
                run(job);
            } catch (Throwable e) {
                Survival.log(e);
            }
        }
    }

    private void run(Job job) {
        begun.incrementAndGet();
        try {
            if (!waiting.isEmpty()) {
                sendThread();
            }
            if (!deadline.expires(job)) {
                job.handle();
            }
        } finally {
            begun.decrementAndGet();
            underWay.decrementAndGet();
        }
    }

    /** Requests whose thread is still on its way; a carrier that is held up keeps it there. */
    private final class Untaken implements Deadline.Waiting {

        @Override
        public Job oldest() {
            return waiting.peek();
        }

        @Override
        public boolean remove(Job job) {
            return waiting.remove(job);
        }

        @Override
        public void removed(Job job) {
            if (!deadline.isLate(job)) {
                add(job);
                return;
            }
            try {
                deadline.expire(job);
            } finally {
                underWay.decrementAndGet();
            }
        }
    }

    /** Requests that no thread has taken yet. */
    @Override
    public int queueDepth() {
        return Math.max(0, underWay.get() - begun.get());
    }

    @Override
    public long expired() {
        return deadline.expired();
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("execution", ExecutionKind.VIRTUAL.toString());
        all.put("carrier_threads", scheduler.getParallelism());
        all.put("queue_size", settings.queueSize());
        all.put("deadline_ms", settings.deadlineMs());
        return all;
    }

    @Override
    public void close() {
        while (underWay.get() > 0) {
            LockSupport.parkNanos(CLOSE_CHECK_NANOS);
        }
        deadline.close();
    }
}
