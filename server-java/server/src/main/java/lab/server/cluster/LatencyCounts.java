package lab.server.cluster;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts latencies in buckets that are a sixteenth wide, from 1 us up; a percentile is exact to 6.25 %. Takes no lock and
 * allocates nothing.
 */
final class LatencyCounts {

    private static final int SUB_BITS = 4;
    private static final int SUB_BUCKETS = 1 << SUB_BITS;
    private static final int BUCKETS = Long.SIZE * SUB_BUCKETS;
    private static final int NANOS_PER_MICRO = 1_000;

    private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);
    private final LongAdder sumUs = new LongAdder();
    private final LongAccumulator maxUs = new LongAccumulator(Math::max, 0);

    void record(long nanos) {
        long micros = Math.max(0, nanos / NANOS_PER_MICRO);
        counts.incrementAndGet(bucket(micros));
        sumUs.add(micros);
        maxUs.accumulate(micros);
    }

    private static int bucket(long micros) {
        if (micros < SUB_BUCKETS) {
            return (int) micros;
        }
        int shift = Long.SIZE - 1 - Long.numberOfLeadingZeros(micros) - SUB_BITS;
        return (shift + 1) * SUB_BUCKETS + (int) (micros >>> shift & SUB_BUCKETS - 1);
    }

    /** Highest value of a bucket. */
    private static long highest(int bucket) {
        if (bucket < SUB_BUCKETS) {
            return bucket;
        }
        int shift = bucket / SUB_BUCKETS - 1;
        return ((long) SUB_BUCKETS + bucket % SUB_BUCKETS + 1 << shift) - 1;
    }

    long count() {
        long count = 0;
        for (int i = 0; i < BUCKETS; i++) {
            count += counts.get(i);
        }
        return count;
    }

    /** Latency that a share of all calls did not exceed, in microseconds; 0 if there were none. */
    long percentileUs(double share) {
        long rank = (long) Math.ceil(share * count());
        long seen = 0;
        for (int i = 0; i < BUCKETS; i++) {
            seen += counts.get(i);
            if (seen >= rank && seen > 0) {
                return Math.min(highest(i), maxUs.get());
            }
        }
        return 0;
    }

    Map<String, Object> summaryUs() {
        long count = count();
        Map<String, Object> summary = new LinkedHashMap<>();
        summary.put("mean", count == 0 ? null : sumUs.sum() / (double) count);
        summary.put("p50", count == 0 ? null : percentileUs(0.5));
        summary.put("p99", count == 0 ? null : percentileUs(0.99));
        summary.put("max", count == 0 ? null : maxUs.get());
        return summary;
    }
}
