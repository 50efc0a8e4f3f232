package lab.server.jdk;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import lab.server.api.Body;
import lab.server.execution.Dispatcher;
import lab.server.http.BodyPieces;
import lab.server.http.Heads;
import lab.server.http.ReceivedRequest;
import lab.server.http.WireExchange;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One request, and its response, which waits here for the thread of the connection to send it. */
final class JdkExchange implements WireExchange {

    private static final Logger LOG = LoggerFactory.getLogger(JdkExchange.class);

    private final ReceivedRequest request;
    private final Dispatcher dispatcher;
    /** Bytes, or {@link BodyPieces}; a failure if the connection has to end without a response. */
    private final CompletableFuture<Object> response = new CompletableFuture<>();
    private final CompletableFuture<Void> sent = new CompletableFuture<>();
    private long waitsSinceNanos;

    JdkExchange(ReceivedRequest request, Dispatcher dispatcher) {
        this.request = request;
        this.dispatcher = dispatcher;
    }

    /** Has the request handled and waits for the response: bytes, or pieces, which the caller closes. */
    Object awaitResponse() throws IOException {
        if (request.rejection() != null) {
            respond(request.rejection(), request.rejectionText());
        } else {
            dispatcher.dispatch(this);
        }
        return response.join();
    }

    /** Says that the response was sent, or cannot be. */
    void sent() {
        sent.complete(null);
    }

    @Override
    public Dispatcher dispatcher() {
        return dispatcher;
    }

    @Override
    public void perform(Work work) {
        try {
            work.on(this);
        } catch (IOException | RuntimeException | Error e) {
            // Nothing can be sent any more; the client must not wait for it.
            abort(e);
        }
    }

    @Override
    public void waitsSince(long nanos) {
        waitsSinceNanos = nanos;
    }

    @Override
    public long waitsSince() {
        return waitsSinceNanos;
    }

    @Override
    public ReceivedRequest request() {
        return request;
    }

    @Override
    public boolean hasResponse() {
        return response.isDone();
    }

    @Override
    public void deliver(byte[] bytes) {
        response.complete(bytes);
    }

    @Override
    public void respondStream(Body body) {
        if (hasResponse() || request.isHead()) {
            try (body) {
                deliver(Heads.ofStream(pending(), body));
            }
            return;
        }
        BodyPieces pieces = new BodyPieces(request, body);
        if (!response.complete(pieces)) {
            // The connection has ended.
            pieces.close();
        } else if (body.waits()) {
            sent.join();
        }
    }

    @Override
    public void abort(Throwable cause) {
        try {
            if (!(cause instanceof IOException)) {
                LOG.error("{} {} was left without a response", method(), target(), cause);
            }
        } finally {
            response.completeExceptionally(cause);
        }
    }
}
