package lab.server.api;

import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.EntryTooLargeException;
import lab.storage.StorageBusyException;
import lab.storage.StorageFullException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs what answers a request, and answers in its place if it fails: no request is left without an answer. */
public final class Answering {

    private static final Logger LOG = LoggerFactory.getLogger(Answering.class);

    private final LongAdder failures = new LongAdder();

    /** What answers one request. */
    @FunctionalInterface
    public interface Action {
        /**
         * Answers, or sees to it that another thread will.
         *
         * @throws IOException if the connection is broken
         */
        void run() throws IOException;
    }

    /** Requests answered with 500 so far. */
    public long failures() {
        return failures.sum();
    }

    /**
     * Answers on the thread that carries the connection.
     *
     * @throws IOException if the connection is broken; the caller ends it
     */
    public void answer(Exchange exchange, Action action) throws IOException {
        try {
            action.run();
        } catch (BadRequestException e) {
            exchange.respond(Status.BAD_REQUEST, e.getMessage());
        } catch (EntryTooLargeException e) {
            exchange.respond(Status.TOO_LARGE, e.getMessage());
        } catch (StorageFullException e) {
            // One line would be logged for each request until there is room; the store has said it once.
            exchange.respond(Status.STORAGE_FULL, e.getMessage());
        } catch (StorageBusyException e) {
            exchange.respond(Status.UNAVAILABLE, e.getMessage());
        } catch (RuntimeException | Error e) {
            failures.increment();
            LOG.error("{} {} failed", exchange.method(), exchange.target(), e);
            if (!exchange.isAnswered()) {
                exchange.respond(Status.INTERNAL_ERROR, "The server failed: " + e.getMessage()
                        + "\nIts log has the cause.");
            }
        }
    }

    /**
     * Responds for any other thread, which does not wait for the client. Throws nothing: if the connection is broken, it is
     * ended.
     */
    public void answerLater(Exchange exchange, Action action) {
        if (exchange.waitsForClient()) {
            Thread.ofVirtual().name("late-response").start(() -> answerOrAbort(exchange, action));
        } else {
            answerOrAbort(exchange, action);
        }
    }

    private void answerOrAbort(Exchange exchange, Action action) {
        try {
            answer(exchange, action);
        } catch (IOException | RuntimeException | Error e) {
            exchange.abort(e);
        }
    }
}
