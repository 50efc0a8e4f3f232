package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.ValueReader;

/**
 * The records of one replica, in any engine. The last version wins: a record never replaces a newer one, in whatever
 * order they come. Tombstones are kept, because a replica that forgot one could bring back what it deleted.
 */
final class VersionedStore {

    /** A power of two, many times the number of threads, so that two keys seldom share a lock. */
    private static final int STRIPES = 1024;

    private final Storage storage;
    private final Object[] stripes = new Object[STRIPES];

    /**
     * @param storage not closed by this object; nobody else writes to it
     */
    VersionedStore(Storage storage) {
        this.storage = storage;
        Arrays.setAll(stripes, stripe -> new Object());
    }

    /**
     * Stores a record unless there is one that is as new or newer. Looking and storing is one step for each key.
     *
     * @param record its ownership passes to the engine
     * @return the version that the replica has now: that of the record, or a newer one if the record was refused
     */
    long put(byte[] key, byte[] record) {
        long version = version(record);
        MemorySegment keySegment = MemorySegment.ofArray(key);
        MemorySegment recordSegment = MemorySegment.ofArray(record);
        VersionReader current = new VersionReader();
        synchronized (stripes[stripe(key)]) {
            storage.get(keySegment, current);
            if (current.version >= version) {
                return current.version;
            }
            storage.put(keySegment, recordSegment);
            return version;
        }
    }

    private static long version(byte[] record) {
        if (record.length < StampedRecord.PREFIX_BYTES) {
            throw new StorageException("Another node sent a record of " + record.length + " bytes; it has at least "
                    + StampedRecord.PREFIX_BYTES + ". All nodes of a cluster must run the same version of the server.");
        }
        return StampedRecord.version(MemorySegment.ofArray(record));
    }

    private static int stripe(byte[] key) {
        int hash = Arrays.hashCode(key);
        return (hash ^ hash >>> Short.SIZE) & STRIPES - 1;
    }

    /** Shows a record where it lies; see {@link Storage#get(MemorySegment, ValueReader)}. */
    <X extends Exception> boolean get(byte[] key, ValueReader<X> reader) throws X {
        return storage.get(MemorySegment.ofArray(key), reader);
    }

    /** A copy of a record, or null if the replica has never seen the key. */
    byte[] get(byte[] key) {
        return storage.get(MemorySegment.ofArray(key));
    }

    /** Records in order, with tombstones and prefixes. */
    Cursor records(byte[] start, byte[] end) {
        return storage.range(MemorySegment.ofArray(start), end == null ? null : MemorySegment.ofArray(end));
    }

    private static final class VersionReader implements ValueReader<RuntimeException> {

        private long version = Long.MIN_VALUE;

        @Override
        public void accept(MemorySegment record) {
            version = StampedRecord.version(record);
        }
    }
}
