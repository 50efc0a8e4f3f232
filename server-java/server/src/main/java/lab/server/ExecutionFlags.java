package lab.server;

import static lab.server.Flags.require;

import lab.server.execution.Execution;
import lab.server.execution.ExecutionKind;
import lab.server.execution.ExecutionSettings;
import lab.server.execution.QueueKind;
import picocli.CommandLine.Option;

/** On which threads requests are handled. */
final class ExecutionFlags {

    private static final int THREADS_A_CORE = 4;
    /** With one a core, the selector interrupts the carrier after each few requests, and both do all in smaller parts. */
    private static final int CARRIERS_A_CORE = 2;
    private static final int QUEUE_SIZE = 1_024;
    /** The most that the JDK's scheduler takes. */
    private static final int MAX_CARRIERS = 32_767;

    @Option(names = "--execution", defaultValue = "selector", paramLabel = "MODE",
            description = "Where requests are handled: selector (on the thread that read them), pool (handed to a pool), "
                    + "virtual (on virtual threads), blocking-pool (on a pool, while the selector waits; as "
                    + "report 3). Default: ${DEFAULT-VALUE}.")
    private ExecutionKind kind;

    @Option(names = "--pool-threads", defaultValue = "0", paramLabel = "N",
            description = "pool, blocking-pool: threads; virtual: threads that carry the virtual ones. Default: 0, for "
                    + "each core " + THREADS_A_CORE + " for pool, " + CARRIERS_A_CORE + " for virtual, one for "
                    + "blocking-pool (as report 3).")
    private int threads;

    @Option(names = "--queue", paramLabel = "KIND",
            description = "pool: array, linked (oldest first), or lifo (newest first). Default: array.")
    private QueueKind queue;

    @Option(names = "--queue-size", paramLabel = "N",
            description = "pool: requests that may wait; virtual: requests that may be under way. Further ones are "
                    + "refused with 503 and Retry-After. Default: " + QUEUE_SIZE + ".")
    private Integer queueSize;

    @Option(names = "--deadline-ms", defaultValue = "0", paramLabel = "MS",
            description = "pool, virtual: a request that waited this long for a thread is refused with 503 and not "
                    + "served. Default: 0, never.")
    private int deadlineMs;

    void validate() {
        require(threads >= 0, "--pool-threads is " + threads + ", but must be at least 1, or 0 for the default.");
        require(kind != ExecutionKind.VIRTUAL || threads <= MAX_CARRIERS, "--pool-threads is " + threads
                + ", but virtual threads have at most " + MAX_CARRIERS + " to carry them.");
        require(queueSize == null || queueSize > 0, "--queue-size is " + queueSize + ", but must be at least 1.");
        require(deadlineMs >= 0, "--deadline-ms is " + deadlineMs + ", but must be at least 1, or 0 for never.");
        boolean pool = kind == ExecutionKind.POOL;
        boolean bounded = pool || kind == ExecutionKind.VIRTUAL;
        requireFor(kind != ExecutionKind.SELECTOR || threads == 0, "--pool-threads", "pool, virtual and blocking-pool");
        requireFor(pool || queue == null, "--queue", "pool");
        requireFor(bounded || queueSize == null, "--queue-size", "pool and virtual");
        requireFor(bounded || deadlineMs == 0, "--deadline-ms", "pool and virtual");
    }

    private void requireFor(boolean condition, String flag, String kinds) {
        require(condition, flag + " is for --execution " + kinds + ", but the execution is " + kind + ".");
    }

    Execution create() {
        int chosen = threads > 0 ? threads : Runtime.getRuntime().availableProcessors() * threadsACore();
        return kind.create(new ExecutionSettings(chosen, queue == null ? QueueKind.ARRAY : queue,
                queueSize == null ? QUEUE_SIZE : queueSize, deadlineMs));
    }

    private int threadsACore() {
        return switch (kind) {
            case BLOCKING_POOL -> 1;
            case VIRTUAL -> CARRIERS_A_CORE;
            case SELECTOR, POOL -> THREADS_A_CORE;
        };
    }
}
