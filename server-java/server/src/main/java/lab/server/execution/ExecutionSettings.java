package lab.server.execution;

/**
 * How requests wait and who handles them.
 *
 * @param threads    threads of a pool; with virtual threads, those that carry them
 * @param queue      which request is next
 * @param queueSize  requests that may wait; with virtual threads, that may be under way
 * @param deadlineMs a request that has waited this long is not served any more; 0 for never
 */
public record ExecutionSettings(int threads, QueueKind queue, int queueSize, int deadlineMs) {
}
