package lab.server.cluster;

import java.time.Instant;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stamps versions: microseconds of the wall clock, which never go back and never repeat on this node, and the number of
 * the node in the lowest byte, so that no two nodes ever stamp alike.
 *
 * <p>A hybrid logical clock: it also moves past every version that it observes, so that what follows a write in time is
 * stamped higher although the clock of its node may be late. S. Kulkarni et al., "Logical Physical Clocks", OPODIS 2014.
 * A version is followed however far ahead it is: not to follow it would mean to acknowledge writes that lose against it.
 */
final class HybridClock implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(HybridClock.class);

    private static final int NODE_BITS = 8;
    private static final long NODE_MASK = (1L << NODE_BITS) - 1;
    private static final long MICROS_PER_S = 1_000_000;
    private static final int MICROS_PER_MS = 1_000;
    private static final int NANOS_PER_MICRO = 1_000;
    /** Half of what a version can hold, in the year 2540, so that there is room to count on from any version. */
    private static final long END_MICROS = 1L << 54;
    private static final long WORTH_A_WARNING_MICROS = 60 * MICROS_PER_S;

    private final int node;
    private final LongSupplier micros;
    private final ClockMark mark;
    private final AtomicLong last;
    private final AtomicBoolean warned = new AtomicBoolean();

    /**
     * @param node   number of the node, 0 to 255
     * @param micros the wall clock, microseconds since 1970
     * @param mark   where it goes on from, and what it keeps its place in; closed with this object
     */
    HybridClock(int node, LongSupplier micros, ClockMark mark) {
        this.node = node;
        this.micros = micros;
        this.mark = mark;
        this.last = new AtomicLong(mark.version());
    }

    /** The clock of the machine. */
    static long wallMicros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * MICROS_PER_S + now.getNano() / NANOS_PER_MICRO;
    }

    /** A version higher than all that this clock gave or observed. */
    long next() {
        long wall = micros.getAsLong();
        if (wall >= END_MICROS) {
            throw new IllegalStateException("The clock of this machine is " + wall + " us after 1970, beyond the last "
                    + "version that can be stamped. Set the clock.");
        }
        while (true) {
            long before = last.get();
            long version = Math.max(wall, (before >> NODE_BITS) + 1) << NODE_BITS | node;
            if (last.compareAndSet(before, version)) {
                mark.cover(version);
                return version;
            }
        }
    }

    /** Moves past a version that some node stamped. */
    void observe(long version) {
        if (version <= last.get()) {
            return;
        }
        last.accumulateAndGet(version, Math::max);
        mark.cover(version);
        long ahead = micros(version) - micros.getAsLong();
        if (ahead > WORTH_A_WARNING_MICROS && warned.compareAndSet(false, true)) {
            LOG.warn("Node {} has stamped a version that is {} s ahead of this node's clock; it is followed. Set the "
                    + "clocks of the nodes alike.", node(version), ahead / MICROS_PER_S);
        }
    }

    /** How far the next version is ahead of the wall clock, in milliseconds. */
    long aheadMs() {
        return Math.max(0, micros(last.get()) - micros.getAsLong()) / MICROS_PER_MS;
    }

    /** Whether a version leaves room for later ones. One that does not was stamped by no clock. */
    static boolean isPossible(long version) {
        return micros(version) <= END_MICROS;
    }

    /** Microseconds since 1970 in a version. */
    static long micros(long version) {
        return version >> NODE_BITS;
    }

    /** Number of the node that stamped a version. */
    static int node(long version) {
        return (int) (version & NODE_MASK);
    }

    /** Keeps the place for the next start. */
    @Override
    public void close() {
        mark.close(last.get());
    }
}
