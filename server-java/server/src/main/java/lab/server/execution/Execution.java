package lab.server.execution;

import java.util.Map;

/** Decides on which thread a request is handled, and whether there is room for it at all. */
public interface Execution extends AutoCloseable {

    /**
     * Handles a job now or later, on this thread or another.
     *
     * @return false if there is no room; then the job is not handled, and the caller says so in the response
     */
    boolean execute(Job job);

    /** Whether {@link #execute} holds the caller up until another thread has handled the job. */
    default boolean callerWaits() {
        return false;
    }

    /** Whether jobs are handled on the thread that hands them in. */
    default boolean onCaller() {
        return false;
    }

    /** Jobs that wait for a thread at this moment. */
    int queueDepth();

    /** Jobs that waited too long so far. */
    long expired();

    /** Settings that it runs with. Values are strings and numbers. */
    Map<String, Object> settings();

    /** Handles what waits and ends the threads. Nothing may be handed in any more. */
    @Override
    void close();
}
