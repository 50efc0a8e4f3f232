package lab.storage;

import java.io.IOException;
import java.nio.file.FileSystemException;

/**
 * A write was refused because the disk is full, and was not done. In our own stores reads go on, and writes are taken again
 * as soon as there is room; the message says what holds for the others.
 */
public final class StorageFullException extends StorageException {

    /** With a message of whole sentences and what caused it. */
    public StorageFullException(String message, Throwable cause) {
        super(message, cause);
    }

    /**
     * Says what could not be done, why, and what helps.
     *
     * @param what beginning of a sentence
     */
    public static StorageFullException of(String what, Throwable cause) {
        return of(what, cause, "Free space; writes are taken again as soon as there is room. Reads go on.");
    }

    /**
     * The same for a store that goes on in another way.
     *
     * @param remedy what helps, in whole sentences
     */
    public static StorageFullException of(String what, Throwable cause, String remedy) {
        return new StorageFullException(what + ": the disk is full (" + cause.getMessage() + "). " + remedy, cause);
    }

    /** Whether a failure says that there is no room, on the disk or in a quota. */
    public static boolean isNamedBy(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String text = cause instanceof FileSystemException e ? e.getReason() : cause.getMessage();
            if (cause instanceof IOException && text != null
                    && (text.contains("No space left on device") || text.contains("quota exceeded"))) {
                return true;
            }
        }
        return false;
    }
}
