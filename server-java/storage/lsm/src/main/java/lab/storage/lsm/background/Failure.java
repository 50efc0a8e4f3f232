package lab.storage.lsm.background;

import lab.storage.StorageException;
import lab.storage.StorageFullException;

/** What a writer gets when something cannot be written. */
public final class Failure {

    /** What to do when the store itself does the work again. */
    public static final String RETRIED = "Repair the disk; the store tries again every second.";

    private Failure() {
    }

    /**
     * A full disk is another thing than a broken one.
     *
     * @param what   what cannot be done, without a full stop
     * @param remedy what to do about a broken disk, in whole sentences
     */
    public static StorageException of(String what, Throwable cause, String remedy) {
        if (cause instanceof StorageException reported) {
            return reported;
        }
        return StorageFullException.isNamedBy(cause) ? StorageFullException.of(what, cause)
                : new StorageException(what + ": " + cause + ". " + remedy, cause);
    }

    /** The same for another writer, with a stack of its own; the one of the background is its cause. */
    public static StorageException copyForCaller(StorageException reported) {
        if (reported instanceof StorageFullException) {
            return new StorageFullException(reported.getMessage(), reported);
        }
        return new StorageException(reported.getMessage(), reported);
    }
}
