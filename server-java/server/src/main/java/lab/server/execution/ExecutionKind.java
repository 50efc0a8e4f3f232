package lab.server.execution;

/** Where requests are handled; what {@code --execution} knows. */
public enum ExecutionKind {
    /** On the thread that read the request. */
    SELECTOR("selector"),
    /** On a pool, while the thread that read the request waits for it. */
    BLOCKING_POOL("blocking-pool"),
    /** On a pool behind a bounded queue. */
    POOL("pool"),
    /** On virtual threads: as many as there are requests that wait for something. */
    VIRTUAL("virtual");

    private final String flag;

    ExecutionKind(String flag) {
        this.flag = flag;
    }

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
        return flag;
    }
}
