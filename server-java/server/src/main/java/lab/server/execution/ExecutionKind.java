package lab.server.execution;

import java.util.Locale;

/** Where requests are handled; what {@code --execution} knows. */
public enum ExecutionKind {
    /** On the thread that read the request. */
    SELECTOR,
    /** On a pool, while the thread that read the request waits for it. */
    BLOCKING_POOL,
    /** On a pool behind a bounded queue. */
    POOL,
    /** On virtual threads: as many as there are requests that wait for something. */
    VIRTUAL;

    /**
     * Makes an execution of this kind.
     *
     * @param settings threads, queue and deadline
     */
    public Execution create(ExecutionSettings settings) {
        return switch (this) {
            case SELECTOR -> new OnSelector();
            case BLOCKING_POOL -> new BlockingPool(settings.threads());
            case POOL -> new Pool(settings);
            case VIRTUAL -> new VirtualThreads(settings);
        };
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
