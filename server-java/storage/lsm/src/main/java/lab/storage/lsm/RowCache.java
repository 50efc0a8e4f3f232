package lab.storage.lsm;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.table.Lookup;

/**
 * Values of hot keys, as they are in tables. Memtables are asked first, so a newer write is never hidden.
 *
 * <p>Before a memtable becomes a table its keys are thrown out, and from then until the table is in place nothing is let
 * in; a reader that looked at the tables of before is refused because its view is no longer the current one. So the cache
 * never shows an older value than the tables.
 */
final class RowCache {

    private static final int ENTRY_OVERHEAD_BYTES = 96;
    /** A larger value would throw out too many others. */
    private static final int LARGEST_SHARE = 64;

    private final Cache<Key, byte[]> values;
    private final long largestBytes;
    private volatile boolean closedForFlush;

    /**
     * @param bytes keys, values and overhead together
     */
    RowCache(long bytes) {
        this.largestBytes = bytes / LARGEST_SHARE;
        this.values = Caffeine.newBuilder().maximumWeight(bytes)
                .weigher((Key key, byte[] value) -> key.length + value.length + ENTRY_OVERHEAD_BYTES)
                .executor(Runnable::run).build();
    }

    /** Bytes that it takes. */
    long bytes() {
        return values.policy().eviction().orElseThrow().weightedSize().orElseThrow();
    }

    /** Lets it take so much, and throws out what is more. */
    void limit(long bytes) {
        var eviction = values.policy().eviction().orElseThrow();
        if (eviction.getMaximum() != bytes) {
            eviction.setMaximum(bytes);
        }
    }

    /** Value of a key; null if it is not here. Not to be changed. */
    MemorySegment get(Lookup lookup) {
        byte[] value = values.getIfPresent(new Key(lookup.key, lookup.keyLength, (int) lookup.hash));
        return value == null ? null : MemorySegment.ofArray(value);
    }

    /**
     * Remembers what a lookup has found in a table.
     *
     * @param current whether the view that was looked at is still the current one
     */
    void put(Lookup lookup, BooleanSupplier current) {
        if (lookup.keyLength + lookup.valueLength > largestBytes) {
            return;
        }
        byte[] value = lookup.segment.asSlice(lookup.valueOffset, lookup.valueLength).toArray(ValueLayout.JAVA_BYTE);
        Key key = new Key(Arrays.copyOf(lookup.key, lookup.keyLength), lookup.keyLength, (int) lookup.hash);
        // Asked under the entry's lock: throwing out this key comes either before, and then this is refused, or after.
        values.asMap().computeIfAbsent(key, k -> closedForFlush || !current.getAsBoolean() ? null : value);
    }

    /** Throws out every key of a memtable, and lets nothing in until {@link #afterFlush()}. */
    void beforeFlush(EntryCursor written) {
        closedForFlush = true;
        while (written.next()) {
            values.invalidate(new Key(written.key(), written.keyLength(),
                    (int) Keys.hash(written.key(), written.keyLength())));
        }
    }

    /** The table is in place. */
    void afterFlush() {
        closedForFlush = false;
    }

    private record Key(byte[] bytes, int length, int hash) {

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && Arrays.equals(bytes, 0, length, key.bytes, 0, key.length);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }
}
