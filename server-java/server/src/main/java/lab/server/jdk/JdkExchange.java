package lab.server.jdk;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;
import lab.server.api.Body;
import lab.server.api.BodyMemory;
import lab.server.api.ClusterSecret;
import lab.server.api.Exchange;
import lab.server.api.Method;
import lab.server.api.Status;
import lab.server.execution.Dispatcher;
import lab.server.execution.Job;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One request that the JDK's server has read. Written with blocking writes, by whoever responds. */
final class JdkExchange implements Exchange, Job {

    private static final int BUFFER_BYTES = 32 * 1024;
    private static final int NO_BODY = -1;
    private static final int CHUNKED = 0;
    private static final byte[] NO_BYTES = {};
    private static final Logger LOG = LoggerFactory.getLogger(JdkExchange.class);

    private final HttpExchange exchange;
    private final Dispatcher dispatcher;
    private final LongAdder counter;
    private final String target;
    private final boolean internal;
    private final RequestBody received;
    private byte[] body = NO_BYTES;
    private volatile boolean responded;
    private long waitsSinceNanos;

    private JdkExchange(HttpExchange exchange, Dispatcher dispatcher, boolean internal, BodyMemory.Rooms rooms,
            LongAdder counter) {
        this.exchange = exchange;
        this.dispatcher = dispatcher;
        this.internal = internal;
        this.received = new RequestBody(rooms);
        this.counter = counter;
        this.target = exchange.getRequestURI().toString();
    }

    /**
     * Reads the body and has the request handled.
     *
     * @param rooms  heap that the bodies of all requests may take
     * @param secret proves that another node sent it; null if there is none
     */
    static void begin(HttpExchange exchange, int maxBodyBytes, BodyMemory.Rooms rooms, Dispatcher dispatcher,
            ClusterSecret secret, LongAdder responses) throws IOException {
        String proof = exchange.getRequestHeaders().getFirst(INTERNAL_FIELD);
        boolean internal = proof != null && secret != null && secret.matches(proof.strip());
        JdkExchange request = new JdkExchange(exchange, dispatcher, internal, rooms, responses);
        try {
            if (proof != null && !internal) {
                request.respond(Status.FORBIDDEN, INTERNAL_REFUSED);
            } else if (request.receive(internal ? maxBodyBytes + INTERNAL_EXTRA_BYTES : maxBodyBytes)) {
                dispatcher.dispatch(request);
            } else {
                request.respond(Status.TOO_LARGE, "The body has more than " + maxBodyBytes
                        + " bytes. Start the server with a larger --max-value-bytes, or send less.");
            }
        } catch (OutOfMemoryError e) {
            LOG.error("{} {} found no memory for its body", exchange.getRequestMethod(), request.target, e);
            request.respond(Status.UNAVAILABLE, "There is no memory for the body at this moment. Come again later.");
        }
    }

    private boolean receive(int maxBodyBytes) throws IOException {
        try {
            byte[] bytes = received.read(exchange, maxBodyBytes);
            body = bytes == null ? NO_BYTES : bytes;
            return bytes != null;
        } catch (IOException | RuntimeException | Error e) {
            received.close();
            throw e;
        }
    }

    @Override
    public void handle() {
        work(dispatcher::serve);
    }

    @Override
    public void refuse() {
        work(dispatcher::respondRefused);
    }

    @Override
    public void expire() {
        work(dispatcher::respondExpired);
    }

    private interface Work {
        void on(Exchange exchange) throws IOException;
    }

    private void work(Work work) {
        try {
            work.on(this);
        } catch (IOException e) {
            LOG.debug("The connection of {} {} is broken", exchange.getRequestMethod(), target, e);
            cutShort();
        } catch (RuntimeException | Error e) {
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
    public Method method() {
        return switch (exchange.getRequestMethod()) {
            case "GET" -> Method.GET;
            case "PUT" -> Method.PUT;
            case "DELETE" -> Method.DELETE;
            default -> Method.OTHER;
        };
    }

    @Override
    public String target() {
        return target;
    }

    @Override
    public boolean internal() {
        return internal;
    }

    @Override
    public MemorySegment body() {
        return MemorySegment.ofArray(body);
    }

    @Override
    public boolean waitsForClient() {
        return true;
    }

    @Override
    public boolean hasResponse() {
        return responded;
    }

    @Override
    public void respond(Status status) throws IOException {
        send(status, NO_BYTES);
    }

    @Override
    public void respond(Status status, String text) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
        if (status == Status.UNAVAILABLE) {
            exchange.getResponseHeaders().set("Retry-After", "1");
        }
        send(status, (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void respondMethodNotAllowed(String allow) throws IOException {
        exchange.getResponseHeaders().set("Allow", allow);
        send(Status.METHOD_NOT_ALLOWED, NO_BYTES);
    }

    @Override
    public void respondJson(String json) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "application/json; charset=utf-8");
        send(Status.OK, json.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void respondValue(MemorySegment value) throws IOException {
        send(Status.OK, value.toArray(ValueLayout.JAVA_BYTE));
    }

    private void send(Status status, byte[] bytes) throws IOException {
        respondOnce();
        if (bytes.length == 0 || exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(status.code(), NO_BODY);
            exchange.close();
        } else {
            exchange.sendResponseHeaders(status.code(), bytes.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(bytes);
            }
        }
        counter.increment();
    }

    private void respondOnce() {
        if (responded) {
            throw new IllegalStateException("This request already has a response.");
        }
        responded = true;
        received.close();
    }

    @Override
    public void respondStream(Body source) throws IOException {
        try (source) {
            byte[] buffer = new byte[BUFFER_BYTES];
            // The first piece is read before the head is sent, so that a failure to read can still get a response.
            int length = source.read(buffer, 0, buffer.length);
            respondOnce();
            exchange.sendResponseHeaders(Status.OK.code(), source.length() == Body.UNKNOWN_LENGTH ? CHUNKED
                    : source.length());
            OutputStream out = exchange.getResponseBody();
            try {
                out.write(buffer, 0, length);
                while (!source.isEnded()) {
                    out.write(buffer, 0, source.read(buffer, 0, buffer.length));
                }
            } catch (RuntimeException | Error e) {
                cutShort();
                throw e;
            }
            out.close();
            counter.increment();
        }
    }

    @Override
    public void abort(Throwable cause) {
        try {
            if (!(cause instanceof IOException)) {
                LOG.error("{} {} was left without a response", exchange.getRequestMethod(), target, cause);
            }
        } finally {
            cutShort();
        }
    }

    /**
     * Ends the connection without the last chunk, the only way left to say that half a body is not all of it. The JDK has
     * no call for that; but it gives a connection up when the response's stream cannot be closed.
     */
    private void cutShort() {
        received.close();
        exchange.setStreams(null, new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("This response was cut short.");
            }

            @Override
            public void close() throws IOException {
                throw new IOException("This response was cut short.");
            }
        });
        exchange.close();
    }
}
