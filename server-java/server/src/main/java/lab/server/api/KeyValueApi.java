package lab.server.api;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP contract of the key-value server, for a cluster of one node. Knows no transport.
 *
 * <table>
 * <caption>Requests</caption>
 * <tr><td>{@code GET|PUT|DELETE /v0/entity?id=ID[&ack=A&from=F]}</td><td>200 or 404, 201, 202</td></tr>
 * <tr><td>{@code GET /v0/entities?start=S[&end=E]}</td><td>200 and the records of the range</td></tr>
 * <tr><td>{@code GET /v0/status}</td><td>200 and JSON</td></tr>
 * </table>
 *
 * <p>Every request gets an answer: a failure is logged with its cause and answered with 500.
 */
public final class KeyValueApi {

    /** Path of one entry. */
    public static final String ENTITY = "/v0/entity";
    /** Path of a range. */
    public static final String ENTITIES = "/v0/entities";
    /** Path of the status. */
    public static final String STATUS = "/v0/status";

    /** Larger values are sent from where they lie, piece by piece. */
    private static final int STREAM_VALUES_ABOVE_BYTES = 32 * 1024;
    private static final int NODES = 1;
    private static final Logger LOG = LoggerFactory.getLogger(KeyValueApi.class);

    private final Storage storage;
    private final Supplier<String> status;
    private final int maxKeyBytes;
    private final LongAdder failures = new LongAdder();

    /**
     * @param storage     not closed by this object
     * @param status      JSON for {@code /v0/status}
     * @param maxKeyBytes larger keys are answered with 413
     */
    public KeyValueApi(Storage storage, Supplier<String> status, int maxKeyBytes) {
        this.storage = storage;
        this.status = status;
        this.maxKeyBytes = maxKeyBytes;
    }

    /** Requests answered with 500 so far. */
    public long failures() {
        return failures.sum();
    }

    /**
     * Answers one request.
     *
     * @throws IOException if the connection is broken
     */
    public void handle(Exchange exchange) throws IOException {
        try {
            route(exchange);
        } catch (BadRequestException e) {
            exchange.respond(Status.BAD_REQUEST, e.getMessage());
        } catch (RuntimeException | Error e) {
            failures.increment();
            LOG.error("{} {} failed", exchange.method(), exchange.target(), e);
            exchange.respond(Status.INTERNAL_ERROR, "The server failed: " + e.getMessage() + "\nIts log has the cause.");
        }
    }

    private void route(Exchange exchange) throws IOException {
        String target = exchange.target();
        if (Query.hasPath(target, ENTITY)) {
            entity(exchange, target);
        } else if (Query.hasPath(target, ENTITIES)) {
            if (isGet(exchange)) {
                entities(exchange, target);
            }
        } else if (Query.hasPath(target, STATUS)) {
            if (isGet(exchange)) {
                exchange.respondJson(status.get());
            }
        } else {
            throw new BadRequestException("There is nothing at this path. Paths are " + ENTITY + ", " + ENTITIES
                    + " and " + STATUS + ".");
        }
    }

    private static boolean isGet(Exchange exchange) throws IOException {
        if (exchange.method() == Method.GET) {
            return true;
        }
        exchange.respondMethodNotAllowed("GET");
        return false;
    }

    private void entity(Exchange exchange, String target) throws IOException {
        Method method = exchange.method();
        if (method == Method.OTHER) {
            exchange.respondMethodNotAllowed("GET, PUT, DELETE");
            return;
        }
        byte[] id = Query.bytes(target, "id");
        if (id == null || id.length == 0) {
            throw new BadRequestException("The parameter id is absent or empty; send " + ENTITY + "?id=KEY.");
        }
        checkReplicas(target);
        if (id.length > maxKeyBytes) {
            exchange.respond(Status.TOO_LARGE, "The key has " + id.length + " bytes; at most " + maxKeyBytes
                    + " are taken.");
            return;
        }
        MemorySegment key = MemorySegment.ofArray(id);
        switch (method) {
            case GET -> get(exchange, key);
            case PUT -> {
                storage.put(key, exchange.body());
                exchange.respond(Status.CREATED);
            }
            default -> {
                storage.delete(key);
                exchange.respond(Status.ACCEPTED);
            }
        }
    }

    private void get(Exchange exchange, MemorySegment key) throws IOException {
        ValueAnswer answer = new ValueAnswer(exchange);
        if (!storage.get(key, answer)) {
            exchange.respond(Status.NOT_FOUND);
        } else if (answer.large) {
            streamValue(exchange, key);
        }
    }

    /** The value may have changed since its size was seen; what the cursor shows is what is answered. */
    private void streamValue(Exchange exchange, MemorySegment key) throws IOException {
        MemorySegment next = MemorySegment.ofArray(java.util.Arrays.copyOf(Bytes.array(key),
                (int) key.byteSize() + 1));
        Cursor cursor = storage.range(key, next);
        boolean found = false;
        try {
            found = cursor.next();
        } finally {
            if (!found) {
                cursor.close();
            }
        }
        if (found) {
            exchange.respondStream(new ValueBody(cursor));
        } else {
            exchange.respond(Status.NOT_FOUND);
        }
    }

    private void entities(Exchange exchange, String target) throws IOException {
        byte[] start = Query.bytes(target, "start");
        byte[] end = Query.bytes(target, "end");
        if (start == null || start.length == 0) {
            throw new BadRequestException("The parameter start is absent or empty; send " + ENTITIES
                    + "?start=KEY, and &end=KEY to end before a key.");
        }
        if (end != null && end.length == 0) {
            throw new BadRequestException("The parameter end is empty; leave it out to read to the last key.");
        }
        exchange.respondStream(new RangeBody(storage.range(MemorySegment.ofArray(start),
                end == null ? null : MemorySegment.ofArray(end))));
    }

    private static void checkReplicas(String target) {
        if (target.indexOf('&') < 0) {
            return;
        }
        int from = Query.number(target, "from", NODES);
        int ack = Query.number(target, "ack", from / 2 + 1);
        if (from <= 0 || from > NODES) {
            throw new BadRequestException("The parameter from is " + from + "; send 1 to " + NODES
                    + ", the number of nodes.");
        }
        if (ack <= 0 || ack > from) {
            throw new BadRequestException("The parameter ack is " + ack + "; send 1 to " + from
                    + ", the number of replicas asked.");
        }
    }

    /** Answers a small value on the spot, while it is pinned. */
    private static final class ValueAnswer implements lab.storage.ValueReader<IOException> {

        private final Exchange exchange;
        private boolean large;

        ValueAnswer(Exchange exchange) {
            this.exchange = exchange;
        }

        @Override
        public void accept(MemorySegment value) throws IOException {
            if (value.byteSize() > STREAM_VALUES_ABOVE_BYTES) {
                large = true;
            } else {
                exchange.respondValue(value);
            }
        }
    }
}
