package lab.storage;

/** A store could not do what it was asked. The message names the thing, the cause and the remedy. */
public class StorageException extends RuntimeException {

    /** With a message of whole sentences. */
    public StorageException(String message) {
        super(message);
    }

    /** With a message of whole sentences and what caused it. */
    public StorageException(String message, Throwable cause) {
        super(message, cause);
    }
}
