package lab.storage;

import java.lang.foreign.MemorySegment;

/**
 * Walks over the entries of a snapshot in key order. Starts before the first entry.
 *
 * <p>Used by one thread at a time. Closing twice does no harm.
 */
public interface Cursor extends AutoCloseable {

    /** What one step of a cursor has come to. */
    enum Step {
        /** An entry, which is now the current one. */
        ENTRY,
        /** Something that is not shown, such as a delete; there may be entries behind it. */
        PASSED,
        /** The end. */
        END
    }

    /**
     * Moves to the next entry.
     *
     * @return false if there is none
     * @throws SnapshotExpiredException if the store took the snapshot back because a slow reader kept too much memory
     */
    boolean next();

    /**
     * Moves on by one stored entry, deletes included: {@link #next()} in bounded pieces, so that a thread on which others
     * wait can turn to them in the middle of many deletes. Engines that cannot stop there move to the next entry.
     *
     * @throws SnapshotExpiredException as {@link #next()}
     */
    default Step step() {
        return next() ? Step.ENTRY : Step.END;
    }

    /** Key of the current entry, valid until {@link #next()} or {@link #close()}. */
    MemorySegment key();

    /** Value of the current entry, valid until {@link #next()} or {@link #close()}. */
    MemorySegment value();

    @Override
    void close();
}
