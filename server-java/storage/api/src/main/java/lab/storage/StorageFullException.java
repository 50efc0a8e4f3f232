package lab.storage;

/**
 * A write was refused because the disk is full. It was not done; reads go on, and writes are taken again as soon as there
 * is room.
 */
public final class StorageFullException extends StorageException {

    /** With a message of whole sentences and what caused it. */
    public StorageFullException(String message, Throwable cause) {
        super(message, cause);
    }
}
