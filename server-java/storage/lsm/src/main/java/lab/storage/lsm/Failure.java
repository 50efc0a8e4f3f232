package lab.storage.lsm;

import lab.storage.StorageException;
import lab.storage.StorageFullException;

/** What a writer gets when something cannot be written. */
public final class Failure {

    private Failure() {
    }

    /** A full disk is another thing than a broken one. */
    public static StorageException of(String what, Throwable cause) {
        if (cause instanceof StorageException reported) {
            return reported;
        }
        return StorageFullException.isNamedBy(cause) ? StorageFullException.of(what, cause)
                : new StorageException(what + ": " + cause + ". Repair the disk; the store tries again every second.",
                        cause);
    }

    /** The same for another writer, with a stack of its own; the one of the background is its cause. */
    static StorageException again(StorageException reported, Counters counters) {
        if (reported instanceof StorageFullException) {
            counters.refusedFull.increment();
            return new StorageFullException(reported.getMessage(), reported);
        }
        return new StorageException(reported.getMessage(), reported);
    }
}
