package lab.server.execution;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * A virtual thread for each request. Without a bound a slow store would gather any number of them, so at most
 * {@code queueSize} requests are under way and further ones are refused.
 */
final class VirtualThreads implements Execution {

    private static final long CLOSE_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final ExecutionSettings settings;
    private final Thread.Builder threads = Thread.ofVirtual().name("request");
    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicInteger started = new AtomicInteger();
    private final LongAdder expired = new LongAdder();
    private final long deadlineNanos;

    VirtualThreads(ExecutionSettings settings) {
        this.settings = settings;
        deadlineNanos = TimeUnit.MILLISECONDS.toNanos(settings.deadlineMs());
    }

    @Override
    public boolean execute(Job job) {
        if (underWay.incrementAndGet() > settings.queueSize()) {
            underWay.decrementAndGet();
            return false;
        }
        if (deadlineNanos > 0) {
            job.waitsSince(System.nanoTime());
        }
        threads.start(() -> run(job));
        return true;
    }

    private void run(Job job) {
        started.incrementAndGet();
        try {
            if (deadlineNanos > 0 && System.nanoTime() - job.waitsSince() >= deadlineNanos) {
                expired.increment();
                job.expire();
            } else {
                job.handle();
            }
        } finally {
            started.decrementAndGet();
            underWay.decrementAndGet();
        }
    }

    /** Requests whose thread has not begun to run. */
    @Override
    public int queueDepth() {
        return Math.max(0, underWay.get() - started.get());
    }

    @Override
    public long expired() {
        return expired.sum();
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("execution", ExecutionKind.VIRTUAL.toString());
        all.put("queue_size", settings.queueSize());
        all.put("deadline_ms", settings.deadlineMs());
        return all;
    }

    @Override
    public void close() {
        while (underWay.get() > 0) {
            LockSupport.parkNanos(CLOSE_CHECK_NANOS);
        }
    }
}
