package lab.storage.lsm;

import java.util.concurrent.atomic.LongAdder;

/**
 * Which share of a memtable's keys tables have too, from a sample of them: looking for every new key in the tables would
 * cost a write more than the write itself.
 */
final class KeySample {

    private static final int ALL_SAMPLED = 1024;
    private static final int SAMPLE_MASK = 15;

    private final LongAdder asked = new LongAdder();
    private final LongAdder old = new LongAdder();

    /** Whether a new key belongs to the sample: each of the first, then one in sixteen. */
    boolean wants(long hash, long count) {
        return count <= ALL_SAMPLED || (hash & SAMPLE_MASK) == 0;
    }

    /** Says whether tables have a key of the sample too. */
    void add(boolean isOld) {
        asked.increment();
        if (isOld) {
            old.increment();
        }
    }

    /** How many of so many keys tables have too, as far as the sample tells. */
    long oldAmong(long count) {
        long all = asked.sum();
        return all == 0 ? 0 : count * old.sum() / all;
    }
}
