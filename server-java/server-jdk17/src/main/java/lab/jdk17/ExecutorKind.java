package lab.jdk17;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Which threads read and handle requests; what {@code --executor} knows. */
enum ExecutorKind {
    /** The one thread that waits for connections: report 2 before its change. */
    DISPATCHER("dispatcher"),
    /** As many threads as there is work: report 2 after its change. */
    CACHED_POOL("cached-pool"),
    /** A fixed number of threads. */
    FIXED("fixed"),
    /** A virtual thread for each request; from JDK 21 on. */
    VIRTUAL("virtual");

    private static final int FIRST_WITH_VIRTUAL_THREADS = 21;

    private final String flag;

    ExecutorKind(String flag) {
        this.flag = flag;
    }

    /**
     * Makes an executor.
     *
     * @param threads of a fixed pool
     * @return null for the thread of the server itself
     * @throws IllegalArgumentException if this JDK has no virtual threads
     */
    ExecutorService create(int threads) {
        return switch (this) {
            case DISPATCHER -> null;
            case CACHED_POOL -> Executors.newCachedThreadPool();
            case FIXED -> Executors.newFixedThreadPool(threads);
            case VIRTUAL -> virtualThreads();
        };
    }

    private static ExecutorService virtualThreads() {
        try {
            // Not there when this is compiled, for JDK 17.
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("--executor virtual needs JDK " + FIRST_WITH_VIRTUAL_THREADS
                    + " or newer, but this is " + Runtime.version() + ". Choose cached-pool, or start it with another "
                    + "JDK.", e);
        }
    }

    @Override
    public String toString() {
        return flag;
    }
}
