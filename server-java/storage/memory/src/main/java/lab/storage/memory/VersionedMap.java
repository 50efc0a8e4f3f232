package lab.storage.memory;

import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import lab.storage.HeapFootprint;

/**
 * A concurrent sorted map whose entries can keep older versions for the snapshots that still see them.
 *
 * <p>Each write carries a sequence number. Of two writes to one key the higher number wins, in whichever order they
 * arrive. Deletes are versions without a value. Readers take no lock.
 */
public final class VersionedMap {

    /**
     * Heap bytes of one entry in addition to the bytes of its key and its value's array: skip list node, its share of the
     * index levels, version, the key's array header, padding. Measured with compressed references; rounded up.
     */
    public static final int ENTRY_OVERHEAD_BYTES = 128;

    private static final int VERSION_BYTES = 32;

    private final ConcurrentSkipListMap<byte[], Version> entries = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
    private final AtomicLong sizeBytes = new AtomicLong();
    private final AtomicLong count = new AtomicLong();

    /**
     * One version of a key's value.
     *
     * @param sequence number of the write
     * @param value    the bytes, or null for a delete
     * @param older    the version before this one, where it was kept, or null
     */
    public record Version(long sequence, byte[] value, Version older) {

        /** The newest version with at most this sequence number, or null. */
        public Version asOf(long snapshotSequence) {
            Version version = this;
            while (version != null && version.sequence > snapshotSequence) {
                version = version.older;
            }
            return version;
        }

        // Identity is what replace() must compare; comparing values would be slow and would mix up two equal writes.
        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return Long.hashCode(sequence);
        }
    }

    /**
     * Writes one version.
     *
     * @param key            not changed afterwards
     * @param value          not changed afterwards; null for a delete
     * @param sequence       number of this write, at least 1; greater than {@code newestSnapshot}
     * @param newestSnapshot sequence number of the newest snapshot that is still open, or 0 if there is none
     * @return {@link #sizeBytes()} afterwards
     */
    public long put(byte[] key, byte[] value, long sequence, long newestSnapshot) {
        Version fresh = new Version(sequence, value, null);
        Version present = entries.putIfAbsent(key, fresh);
        if (present == null) {
            count.getAndIncrement();
            return sizeBytes.addAndGet(entryBytes(key, value));
        }
        while (true) {
            Version next = combine(present, fresh, newestSnapshot);
            if (present == next) {
                return sizeBytes.get();
            }
            if (entries.replace(key, present, next)) {
                return sizeBytes.addAndGet(chainBytes(next) - chainBytes(present));
            }
            present = entries.get(key);
            if (present == null) {
                present = entries.putIfAbsent(key, fresh);
                if (present == null) {
                    count.getAndIncrement();
                    return sizeBytes.addAndGet(entryBytes(key, value));
                }
            }
        }
    }

    private static Version combine(Version present, Version fresh, long newestSnapshot) {
        if (fresh.sequence < present.sequence) {
            // A slower thread comes with an older write. No snapshot was taken since it began, so none can see it.
            return present;
        }
        if (newestSnapshot == 0) {
            return fresh;
        }
        // What came after the newest snapshot is seen by none, so an entry has at most one version for each snapshot.
        Version older = present.sequence <= newestSnapshot ? present : present.older;
        return older == null ? fresh : new Version(fresh.sequence, fresh.value, older);
    }

    /** The newest version of a key, which may be a delete, or null if there was never a write. */
    public Version get(byte[] key) {
        return entries.get(key);
    }

    /** Removes a key if its newest version is this one. */
    public boolean remove(byte[] key, Version version) {
        if (!entries.remove(key, version)) {
            return false;
        }
        count.getAndDecrement();
        sizeBytes.addAndGet(-(ENTRY_OVERHEAD_BYTES + key.length + chainBytes(version)));
        return true;
    }

    /**
     * Entries in key order. Weakly consistent: what is written while it runs may or may not be seen, so the caller
     * picks with {@link Version#asOf}.
     *
     * @param from first key, or null
     * @param to   key after the last one, or null
     */
    public Iterator<Map.Entry<byte[], Version>> iterator(byte[] from, byte[] to) {
        ConcurrentNavigableMap<byte[], Version> part = entries;
        if (from != null && to != null) {
            if (Arrays.compareUnsigned(from, to) >= 0) {
                return Collections.emptyIterator();
            }
            part = entries.subMap(from, true, to, false);
        } else if (from != null) {
            part = entries.tailMap(from, true);
        } else if (to != null) {
            part = entries.headMap(to, false);
        }
        return part.entrySet().iterator();
    }

    /** Bytes of keys and values, older versions included, and {@link #ENTRY_OVERHEAD_BYTES} for each key. */
    public long sizeBytes() {
        return sizeBytes.get();
    }

    /** Number of keys, deleted ones included. */
    public long count() {
        return count.get();
    }

    private static long chainBytes(Version version) {
        long bytes = valueBytes(version.value);
        for (Version older = version.older; older != null; older = older.older) {
            bytes += VERSION_BYTES + valueBytes(older.value);
        }
        return bytes;
    }

    /**
     * Heap bytes that an entry takes in a map of this kind.
     *
     * @param value null for a delete
     */
    public static long entryBytes(byte[] key, byte[] value) {
        return ENTRY_OVERHEAD_BYTES + key.length + valueBytes(value);
    }

    private static long valueBytes(byte[] value) {
        return value == null ? 0 : HeapFootprint.ofArray(value.length);
    }
}
