package lab.server.cluster;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Clients that wait for each response, each call on a thread of a pool with a bounded queue. Nothing else runs on these
 * threads and responding to another node needs none of them, so nodes that wait for each other never wait in a circle.
 */
final class BlockingTransport implements PeerTransport {

    private static final Logger LOG = LoggerFactory.getLogger(BlockingTransport.class);

    /**
     * A response as it came.
     *
     * @param body never null
     */
    record PeerResponse(int status, byte[] body) {
    }

    /** A connection, or a pool of them, to one node. */
    interface Caller extends AutoCloseable {
        /** Sends a call and waits for its response. */
        PeerResponse ask(PeerCall call) throws IOException, InterruptedException;

        @Override
        void close();
    }

    private static final int STOP_TIMEOUTS = 3;

    private final Function<String, Caller> callers;
    private final List<Caller> opened = new CopyOnWriteArrayList<>();
    private final ThreadPoolExecutor threads;
    private final long timeoutNanos;
    /** Reproduces a published fault: only one call of this node at a time. Null without it. */
    private final Lock oneAtATime;

    /**
     * @param callers   makes what asks one node
     * @param threads   calls that may wait for a response at the same time
     * @param queue     calls that may wait for a thread
     * @param oneAtATime whether one lock is held during each call
     */
    BlockingTransport(Function<String, Caller> callers, int threads, int queue, int timeoutMs, boolean oneAtATime) {
        this.callers = callers;
        this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        this.oneAtATime = oneAtATime ? new ReentrantLock() : null;
        AtomicInteger number = new AtomicInteger();
        this.threads = new ThreadPoolExecutor(threads, threads, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(queue),
                task -> {
                    Thread thread = new Thread(task, "peer-call-" + number.getAndIncrement());
                    thread.setDaemon(true);
                    return thread;
                }, new ThreadPoolExecutor.AbortPolicy());
    }

    @Override
    public PeerClient to(String url) {
        Caller caller = callers.apply(url);
        opened.add(caller);
        return call -> {
            try {
                threads.execute(new Task(caller, call));
            } catch (RejectedExecutionException e) {
                call.fail(PeerFailure.OVERLOADED);
            }
        };
    }

    @Override
    public void close() {
        threads.shutdown();
        threads.getQueue().removeIf(task -> {
            ((Task) task).call.fail(PeerFailure.OVERLOADED);
            return true;
        });
        threads.shutdownNow();
        try {
            // A caller that cannot be interrupted ends by its time-out: one for a connection, one for the response.
            if (!threads.awaitTermination(STOP_TIMEOUTS * timeoutNanos, TimeUnit.NANOSECONDS)) {
                LOG.warn("A call to another node did not end in time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        opened.forEach(Caller::close);
    }

    private final class Task implements Runnable {

        private final Caller caller;
        private final PeerCall call;
        private PeerResponse response;

        Task(Caller caller, PeerCall call) {
            this.caller = caller;
            this.call = call;
        }

        @Override
        public void run() {
            if (oneAtATime != null) {
                oneAtATime.lock();
            }
            PeerFailure failure;
            try {
                failure = askInTime();
            } finally {
                if (oneAtATime != null) {
                    oneAtATime.unlock();
                }
            }
            if (failure == null) {
                call.end(response.status(), response.body());
            } else {
                call.fail(failure);
            }
        }

        /** Sets the response, or says why there is none. */
        private PeerFailure askInTime() {
            if (call.isInVain()) {
                // Else each of those who wait for their turn would find out for itself, a time-out later.
                return PeerFailure.SET_ASIDE;
            }
            if (System.nanoTime() - call.startNanos() > timeoutNanos) {
                // It spent its time waiting for its turn, which says nothing about the other node.
                return PeerFailure.OVERLOADED;
            }
            try {
                response = caller.ask(call);
                return null;
            } catch (IOException e) {
                LOG.debug("A call failed", e);
                PeerFailure failure = PeerFailure.of(e);
                // A connection out of the pool may be one to the node before its restart.
                return failure == PeerFailure.UNREACHABLE && call.takeSecondTry() ? askInTime() : failure;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return PeerFailure.UNREACHABLE;
            }
        }
    }
}
