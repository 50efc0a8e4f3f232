package lab.storage.lsm;

import lab.storage.StorageException;
import lab.storage.StorageFullException;

/** What a writer is told when something cannot be written. */
public final class Failure {

    private Failure() {
    }

    /** A full disk is another thing than a broken one. */
    public static StorageException of(String what, Throwable cause) {
        if (cause instanceof StorageException told) {
            return told;
        }
        return StorageFullException.isNamedBy(cause) ? StorageFullException.of(what, cause)
                : new StorageException(what + ": " + cause + ". Mend the disk; the store tries again every second.",
                        cause);
    }

    /** The same for another writer, with a stack of its own; the one of the background is its cause. */
    static StorageException again(StorageException told, Counters counters) {
        if (told instanceof StorageFullException) {
            counters.refusedFull.increment();
            return new StorageFullException(told.getMessage(), told);
        }
        return new StorageException(told.getMessage(), told);
    }
}
