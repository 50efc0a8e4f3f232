package lab.server.api;

import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.EntryTooLargeException;
import lab.storage.StorageBusyException;
import lab.storage.StorageFullException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs what responds to a request, and responds in its place if it fails: no request is left without a response. */
public final class Responder {

    private static final Logger LOG = LoggerFactory.getLogger(Responder.class);

    private final LongAdder failures = new LongAdder();

    /** What responds to one request. */
    @FunctionalInterface
    public interface Action {
        /**
         * Responds, or sees to it that another thread will.
         *
         * @throws IOException if the connection is broken
         */
        void run() throws IOException;
    }

    /** Responses with status 500 so far. */
    public long failures() {
        return failures.sum();
    }

    /**
     * Responds on the thread that serves the connection.
     *
     * @throws IOException if the connection is broken; the caller ends it
     */
    public void respond(Exchange exchange, Action action) throws IOException {
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
            if (!exchange.hasResponse()) {
                exchange.respond(Status.INTERNAL_ERROR, "The server failed: " + e.getMessage()
                        + "\nIts log has the cause.");
            }
        }
    }

    /**
     * Responds for any other thread, which does not wait for the client. Throws nothing: if the connection is broken, it is
     * ended.
     */
    public void respondLater(Exchange exchange, Action action) {
        try {
            respond(exchange, action);
        } catch (IOException | RuntimeException | Error e) {
            exchange.abort(e);
        }
    }
}
