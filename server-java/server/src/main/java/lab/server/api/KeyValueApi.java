package lab.server.api;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * The HTTP contract of the key-value server. Knows no transport.
 *
 * <table>
 * <caption>Requests</caption>
 * <tr><td>{@code GET|PUT|DELETE /v0/entity?id=ID[&ack=A&from=F]}</td><td>200 or 404, 201, 202; 504</td></tr>
 * <tr><td>{@code GET /v0/entities?start=S[&end=E][&scope=node|cluster]}</td><td>200 and the records of the range</td></tr>
 * <tr><td>{@code GET /v0/status}</td><td>200 and JSON</td></tr>
 * <tr><td>{@code GET /v0/stats}</td><td>200 and JSON: what the store has done</td></tr>
 * </table>
 *
 * <p>A HEAD is served as a GET without the body. Every request gets a response: a failure is logged with its cause and is a 500, a full disk is a 507.
 */
public final class KeyValueApi {

    /** Path of one entry. */
    public static final String ENTITY = "/v0/entity";
    /** Path of a range. */
    public static final String ENTITIES = "/v0/entities";
    /** Path of the status. */
    public static final String STATUS = "/v0/status";
    /** Path at which a node announces itself to another one. */
    public static final String NODE = "/v0/node";
    /** Path of the store's counters. */
    public static final String STATS = "/v0/stats";

    /** The target of a request that is about no path, but the server. */
    private static final String WHOLE_SERVER = "*";
    private static final String ENTITY_METHODS = "GET, HEAD, PUT, DELETE";
    private static final byte[] SCOPE_NODE = {'n', 'o', 'd', 'e'};
    private static final byte[] SCOPE_CLUSTER = {'c', 'l', 'u', 's', 't', 'e', 'r'};

    private final Entities entities;
    private final Supplier<String> status;
    private final Supplier<String> stats;
    private final int maxKeyBytes;
    private final Responder responder;

    /**
     * @param entities    what the requests are about
     * @param responder   responds where a handler fails
     * @param status      JSON for {@code /v0/status}
     * @param stats       JSON for {@code /v0/stats}
     * @param maxKeyBytes larger keys are refused with 413
     */
    public KeyValueApi(Entities entities, Responder responder, Supplier<String> status, Supplier<String> stats,
            int maxKeyBytes) {
        this.entities = entities;
        this.responder = responder;
        this.status = status;
        this.stats = stats;
        this.maxKeyBytes = maxKeyBytes;
    }

    /** Whether a request is served from what is known, so that it needs no thread of its own and is never refused. */
    public static boolean isServedAtOnce(Exchange exchange) {
        String target = exchange.target();
        return Query.hasPath(target, STATUS) || Query.hasPath(target, STATS);
    }

    /**
     * Serves one request, or sees to it that another thread will.
     *
     * @throws IOException if the connection is broken
     */
    public void handle(Exchange exchange) throws IOException {
        responder.respond(exchange, () -> route(exchange));
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
        } else if (Query.hasPath(target, STATS)) {
            if (isGet(exchange)) {
                exchange.respondJson(stats.get());
            }
        } else if (exchange.internal() && Query.hasPath(target, NODE)) {
            byte[] url = Query.bytes(target, "url");
            entities.started(exchange, url == null ? "" : new String(url, StandardCharsets.UTF_8));
        } else if (target.equals(WHOLE_SERVER) && exchange.method() == Method.OTHER) {
            exchange.respondMethodNotAllowed(ENTITY_METHODS);
        } else {
            throw new BadRequestException("There is nothing at this path. Paths are " + ENTITY + ", " + ENTITIES
                    + ", " + STATUS + " and " + STATS + ".");
        }
    }

    private static boolean isGet(Exchange exchange) throws IOException {
        if (exchange.method() == Method.GET) {
            return true;
        }
        exchange.respondMethodNotAllowed("GET, HEAD");
        return false;
    }

    private void entity(Exchange exchange, String target) throws IOException {
        Method method = exchange.method();
        if (method == Method.OTHER) {
            exchange.respondMethodNotAllowed(ENTITY_METHODS);
            return;
        }
        byte[] id = Query.bytes(target, "id");
        if (id == null || id.length == 0) {
            throw new BadRequestException("The parameter id is absent or empty; send " + ENTITY + "?id=KEY.");
        }
        boolean parameters = target.indexOf('&') >= 0;
        int from = parameters ? from(target) : entities.defaultFrom();
        int ack = parameters ? ack(target, from) : entities.defaultAck(from);
        if (id.length > maxKeyBytes) {
            exchange.respond(Status.TOO_LARGE, "The key has " + id.length + " bytes; at most " + maxKeyBytes
                    + " are taken.");
            return;
        }
        switch (method) {
            case GET -> entities.get(exchange, id, from, ack);
            case PUT -> entities.put(exchange, id, from, ack);
            default -> entities.delete(exchange, id, from, ack);
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
        byte[] scope = Query.bytes(target, "scope");
        if (scope == null || Arrays.equals(scope, SCOPE_NODE)) {
            exchange.respondStream(entities.rangeBody(exchange, start, end));
        } else if (Arrays.equals(scope, SCOPE_CLUSTER)) {
            int from = from(target);
            entities.clusterRange(exchange, start, end, from, ack(target, from));
        } else {
            throw new BadRequestException("The parameter scope is neither node, the keys of this node, nor cluster, those "
                    + "of all nodes; leave it out for those of this node.");
        }
    }

    private int from(String target) {
        int from = Query.number(target, "from", entities.defaultFrom());
        if (from <= 0 || from > entities.nodes()) {
            throw new BadRequestException("The parameter from is " + from + "; send 1 to " + entities.nodes()
                    + ", the number of nodes.");
        }
        return from;
    }

    private int ack(String target, int from) {
        int ack = Query.number(target, "ack", entities.defaultAck(from));
        if (ack <= 0 || ack > from) {
            throw new BadRequestException("The parameter ack is " + ack + "; send 1 to " + from
                    + ", the number of replicas asked.");
        }
        return ack;
    }
}
