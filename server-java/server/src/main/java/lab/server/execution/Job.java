package lab.server.execution;

/**
 * One request that is to be handled. The object may be used again for the next request of the same connection, once the
 * first is done.
 */
public interface Job {

    /** Handles the request, on whichever thread it was decided to. Throws nothing that a response could still say. */
    void handle();

    /** Responds that the request waited too long and was not served. */
    void expire();

    /** Responds that there is no room for the request. */
    void refuse();

    /** Remembers when the request began to wait, by {@link System#nanoTime()}. */
    void waitsSince(long nanos);

    /** When it began to wait. */
    long waitsSince();
}
