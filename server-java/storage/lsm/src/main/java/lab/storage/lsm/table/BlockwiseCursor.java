package lab.storage.lsm.table;

/** Walks over one block of a table, forwards; which one is said again and again. */
interface BlockwiseCursor extends EntryCursor {

    /** Moves before the first entry of a block, after whose last entry {@link #next()} finds none. */
    void only(long block);
}
