package lab.storage;

/** Writes several entries as one step; for engines that can. */
public interface Batches {

    /**
     * Does all writes of a batch or, if it fails, none of them. A range, a snapshot or a multi-get that runs meanwhile
     * sees all of them or none. An engine with a log keeps this over a kill of the process and a loss of power too: what
     * holds for a single write, such as being acknowledged only when it is on disk, holds for the batch as a whole.
     *
     * @param batch not changed during this call; an empty one does nothing
     * @throws EntryTooLargeException if an entry is too large, or if the batch as a whole is; then nothing was written
     */
    void write(Batch batch);
}
