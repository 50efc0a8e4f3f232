package lab.storage.lsm;

import java.lang.foreign.MemorySegment;

/** Walks over sorted entries, deletes included. Starts before the first one. */
interface EntryCursor {

    /** Moves to the next entry; false if there is none. */
    boolean next();

    /** The current key. */
    MemorySegment key();

    /** The current value, or null for a delete. */
    MemorySegment value();
}
