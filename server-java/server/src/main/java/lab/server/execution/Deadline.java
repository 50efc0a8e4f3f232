package lab.server.execution;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * How long a request may wait for a thread. Who takes a request asks whether it is late; a thread of its own looks for
 * those that nobody takes, so that they get a response even if every worker is held up.
 *
 * <p>0 is for ever: then nothing is remembered and no thread is started.
 */
final class Deadline implements AutoCloseable {

    private static final int CHECKS_A_DEADLINE = 4;

    /** The requests that wait. */
    interface Waiting {

        /** Who has waited longest; null if nobody waits. */
        Job oldest();

        /** Takes a request out of those that wait; false if another thread was faster. */
        boolean remove(Job job);

        /**
         * Sees to a request that was removed. It need not be late any more: another thread may have served it meanwhile,
         * and its connection may wait with the next one.
         */
        void removed(Job job);
    }

    private final long nanos;
    private final LongAdder expired = new LongAdder();
    private Thread watch;
    private volatile boolean closed;

    Deadline(int deadlineMs) {
        nanos = TimeUnit.MILLISECONDS.toNanos(deadlineMs);
    }

    /** A request begins to wait. */
    void begins(Job job) {
        if (nanos > 0) {
            job.waitsSince(System.nanoTime());
        }
    }

    /** Ends the wait of a request that has waited too long. False if it has not: then it is still to be served. */
    boolean expires(Job job) {
        if (!isLate(job)) {
            return false;
        }
        expire(job);
        return true;
    }

    /** Responds to a request that is not served any more. */
    void expire(Job job) {
        expired.increment();
        job.expire();
    }

    /** Starts to look for those that wait too long. */
    void watch(Waiting waiting) {
        if (nanos > 0) {
            watch = Thread.ofPlatform().name("deadline").daemon().start(() -> look(waiting));
        }
    }

    private void look(Waiting waiting) {
        while (!closed) {
            LockSupport.parkNanos(nanos / CHECKS_A_DEADLINE);
            try {
                removeLate(waiting);
            } catch (Throwable e) {
                Survival.log(e);
            }
        }
    }

    private void removeLate(Waiting waiting) {
        for (Job oldest = waiting.oldest(); oldest != null && isLate(oldest); oldest = waiting.oldest()) {
            if (waiting.remove(oldest)) {
                waiting.removed(oldest);
            }
        }
    }

    /** Whether a request has waited too long. */
    boolean isLate(Job job) {
        return nanos > 0 && System.nanoTime() - job.waitsSince() >= nanos;
    }

    /** Requests that waited too long so far. */
    long expired() {
        return expired.sum();
    }

    /** Looks no more. What waits is left to the caller. */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(watch);
    }
}
