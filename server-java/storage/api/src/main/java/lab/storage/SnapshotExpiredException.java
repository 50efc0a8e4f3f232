package lab.storage;

/**
 * A cursor's snapshot was taken back. A cursor keeps the memory of the entries that it can still see; when readers that
 * do not move keep too much of it, the store frees the oldest snapshots, so that writers are not held up by a reader.
 */
public final class SnapshotExpiredException extends StorageException {

    /** With a message of whole sentences. */
    public SnapshotExpiredException(String message) {
        super(message);
    }
}
