package lab.server.execution;

import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;

/** The queue before a pool; what {@code --queue} knows. */
public enum QueueKind {
    /** A ring with one lock. The request that waits longest is next. */
    ARRAY,
    /** A list with a lock at each end. The request that waits longest is next. */
    LINKED,
    /**
     * A stack with one lock. The newest request is next: under overload some are served fast and the others not at all,
     * instead of all too late.
     */
    LIFO;

    BlockingQueue<Job> create(int size) {
        return switch (this) {
            case ARRAY -> new ArrayBlockingQueue<>(size);
            case LINKED -> new LinkedBlockingQueue<>(size);
            case LIFO -> new Stack(size);
        };
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** A deque whose head is the end where jobs come in. */
    private static final class Stack extends LinkedBlockingDeque<Job> {

        Stack(int size) {
            super(size);
        }

        @Override
        public boolean offer(Job job) {
            return offerFirst(job);
        }

        @Override
        public void put(Job job) throws InterruptedException {
            putFirst(job);
        }
    }
}
