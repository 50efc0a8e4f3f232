package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import lab.storage.SnapshotExpiredException;
import lab.storage.memory.VersionedCursor;

/** Entries of a memtable, as a snapshot sees them. Can be cut off from its memtable while another thread uses it. */
final class MemtableCursor implements EntryCursor {

    private VersionedCursor entries;
    private byte[] key;
    private byte[] value;

    MemtableCursor(VersionedCursor entries) {
        this.entries = entries;
    }

    /** Lets the memtable go. The entry that the cursor is on stays; there is no next one. */
    synchronized void expire() {
        entries = null;
    }

    @Override
    public synchronized boolean next() {
        if (entries == null) {
            throw new SnapshotExpiredException("This range read was cut short: it was so slow that it kept a memtable "
                    + "in memory that writers needed. Read faster, or in smaller ranges.");
        }
        boolean found = entries.next();
        key = found ? entries.key() : null;
        value = found ? entries.value() : null;
        return found;
    }

    @Override
    public MemorySegment key() {
        return MemorySegment.ofArray(key);
    }

    @Override
    public MemorySegment value() {
        return value == null ? null : MemorySegment.ofArray(value);
    }
}
