package lab.server.cluster;

import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Stamps versions: microseconds of the wall clock, which never go back and never repeat on this node, and the number of
 * the node in the lowest byte, so that no two nodes ever stamp alike.
 *
 * <p>A hybrid logical clock: it also moves past every version that it is shown, so that what follows a write in time is
 * stamped higher although the clock of its node may be late. S. Kulkarni et al., "Logical Physical Clocks", OPODIS 2014.
 */
public final class HybridClock {

    private static final int NODE_BITS = 8;
    private static final long NODE_MASK = (1L << NODE_BITS) - 1;
    private static final long MICROS_PER_S = 1_000_000;
    private static final int NANOS_PER_MICRO = 1_000;
    /** A version further ahead than this comes from a broken clock; following it would break this one as well. */
    private static final long MAX_LEAD_MICROS = 60 * MICROS_PER_S;

    private final int node;
    private final LongSupplier micros;
    private final AtomicLong last = new AtomicLong();

    /**
     * @param node number of the node, 0 to 255
     */
    public HybridClock(int node) {
        this(node, HybridClock::wallMicros);
    }

    HybridClock(int node, LongSupplier micros) {
        this.node = node;
        this.micros = micros;
    }

    private static long wallMicros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * MICROS_PER_S + now.getNano() / NANOS_PER_MICRO;
    }

    /** A version higher than all that this clock gave or was shown. */
    public long next() {
        long wall = micros.getAsLong();
        while (true) {
            long before = last.get();
            long version = Math.max(wall, (before >> NODE_BITS) + 1) << NODE_BITS | node;
            if (last.compareAndSet(before, version)) {
                return version;
            }
        }
    }

    /** Shows a version that another node stamped. */
    public void observe(long version) {
        long before = last.get();
        if (version > before && version >> NODE_BITS <= micros.getAsLong() + MAX_LEAD_MICROS) {
            last.accumulateAndGet(version, Math::max);
        }
    }

    /** Microseconds since 1970 in a version. */
    public static long micros(long version) {
        return version >> NODE_BITS;
    }

    /** Number of the node that stamped a version. */
    public static int node(long version) {
        return (int) (version & NODE_MASK);
    }
}
