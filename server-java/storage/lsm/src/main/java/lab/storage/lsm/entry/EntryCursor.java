package lab.storage.lsm.entry;

import java.lang.foreign.MemorySegment;

/**
 * Walks over sorted entries, deletes included. Starts before the first one. Shows where the bytes lie instead of making
 * objects for them; what it shows is valid until the next move.
 */
public interface EntryCursor {

    /** Length of a delete's value. */
    int TOMBSTONE = -1;

    /** Moves to the next entry; false if there is none. */
    boolean next();

    /** Array that starts with the current key. Not to be changed. */
    byte[] key();

    /** Bytes of the current key. */
    int keyLength();

    /** First eight bytes of the current key, as {@link Keys#prefix} gives them. */
    long prefix();

    /** Where the current value lies; null for a delete. */
    MemorySegment valueSegment();

    /** Where it starts in {@link #valueSegment()}. */
    long valueOffset();

    /** Its bytes, or {@link #TOMBSTONE} for a delete. */
    int valueLength();

    /** Bytes of its buffers on the heap, as of a moment ago if another thread asks. */
    default long bufferBytes() {
        return 0;
    }

    /** Lets go what the cursor holds. Nothing else may be called afterwards. */
    default void close() {
    }
}
