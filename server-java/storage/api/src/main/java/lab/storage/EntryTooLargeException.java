package lab.storage;

/** A key or a value is larger than the store takes. It was not stored. */
public final class EntryTooLargeException extends StorageException {

    /** With a message of whole sentences. */
    public EntryTooLargeException(String message) {
        super(message);
    }
}
