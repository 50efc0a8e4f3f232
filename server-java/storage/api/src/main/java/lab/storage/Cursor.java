package lab.storage;

import java.lang.foreign.MemorySegment;

/**
 * Walks over the entries of a snapshot in key order. Starts before the first entry.
 *
 * <p>Used by one thread at a time. Closing twice does no harm.
 */
public interface Cursor extends AutoCloseable {

    /**
     * Moves to the next entry.
     *
     * @return false if there is none
     * @throws SnapshotExpiredException if the store took the snapshot back because a slow reader kept too much memory
     */
    boolean next();

    /** Key of the current entry, valid until {@link #next()} or {@link #close()}. */
    MemorySegment key();

    /** Value of the current entry, valid until {@link #next()} or {@link #close()}. */
    MemorySegment value();

    @Override
    void close();
}
