package lab.storage;

/**
 * A write was refused because the store had no room for it in time, and was not done. The same write may be taken a
 * little later.
 */
public final class StorageBusyException extends StorageException {

    /** With a message of whole sentences. */
    public StorageBusyException(String message) {
        super(message);
    }
}
