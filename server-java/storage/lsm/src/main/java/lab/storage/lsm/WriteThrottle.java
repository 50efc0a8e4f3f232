package lab.storage.lsm;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Slows writers down, each a little, before there is no room and all of them have to wait. Costs a read of a field when
 * there is nothing to slow.
 */
final class WriteThrottle {

    /** Shorter waits are saved up; the kernel does not wake a thread that precisely. */
    private static final long LEAST_WAIT_NS = 500_000;
    private static final long LONGEST_WAIT_NS = 20_000_000;
    private static final double NS_PER_S = 1e9;

    private final Counters counters;
    private final AtomicLong paidUntilNs = new AtomicLong();
    private volatile double nsPerByte;

    WriteThrottle(Counters counters) {
        this.counters = counters;
    }

    /** Lets so many bytes per second pass; 0 or less for all. */
    void limit(double bytesPerSecond) {
        nsPerByte = bytesPerSecond <= 0 ? 0 : NS_PER_S / bytesPerSecond;
    }

    /** Waits until it is the turn of so many bytes. */
    void pass(long bytes) {
        double price = nsPerByte;
        if (price == 0) {
            return;
        }
        long now = System.nanoTime();
        long due = paidUntilNs.accumulateAndGet((long) (bytes * price),
                (until, cost) -> Math.max(until, now - LEAST_WAIT_NS) + cost);
        long wait = Math.min(due - now, LONGEST_WAIT_NS);
        if (wait < LEAST_WAIT_NS) {
            return;
        }
        StallEvent event = new StallEvent();
        event.begin();
        LockSupport.parkNanos(wait);
        event.bytes = bytes;
        event.reason = "slowed";
        event.commit();
        counters.slowdowns.increment();
        counters.slowedNs.add(System.nanoTime() - now);
    }
}
