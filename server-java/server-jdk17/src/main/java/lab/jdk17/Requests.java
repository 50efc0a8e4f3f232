package lab.jdk17;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import lab.server.api.BadRequestException;
import lab.server.api.Query;
import lab.server.api.Status;
import lab.storage.StorageFullException;

/**
 * The HTTP contract of the lab over the JDK's server. Head and body of a response are two writes, as they are in every
 * simple program on this server: on a JDK that does not set TCP_NODELAY the second waits for the client's delayed
 * acknowledgement of the first.
 */
final class Requests implements HttpHandler {

    static final String ENTITY = "/v0/entity";
    static final String ENTITIES = "/v0/entities";
    static final String STATUS = "/v0/status";

    private static final int MAX_KEY_BYTES = 64 * 1024;
    private static final int NODES = 1;
    private static final int NO_BODY = -1;
    private static final int CHUNKED = 0;
    private static final byte[] NO_BYTES = {};
    private static final Logger LOG = System.getLogger(Requests.class.getName());

    private final Store store;
    private final Supplier<String> status;
    private final int maxValueBytes;
    private final boolean responseText;
    private final LongAdder responses = new LongAdder();
    private final LongAdder failed = new LongAdder();

    Requests(Store store, Supplier<String> status, Flags flags) {
        this.store = store;
        this.status = status;
        this.maxValueBytes = flags.maxValueBytes;
        this.responseText = flags.responseText;
    }

    long responses() {
        return responses.sum();
    }

    long failed() {
        return failed.sum();
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        try {
            route(exchange, exchange.getRequestURI().toString());
        } catch (BadRequestException e) {
            text(exchange, Status.BAD_REQUEST, e.getMessage());
        } catch (StorageFullException e) {
            text(exchange, Status.STORAGE_FULL, e.getMessage());
        } catch (RuntimeException | Error e) {
            failed.increment();
            LOG.log(Level.ERROR, exchange.getRequestMethod() + " " + exchange.getRequestURI() + " failed", e);
            if (exchange.getResponseCode() < 0) {
                text(exchange, Status.INTERNAL_ERROR, "The server failed: " + e.getMessage()
                        + "\nIts log has the cause.");
            }
        } finally {
            responses.increment();
            exchange.close();
        }
    }

    private void route(HttpExchange exchange, String target) throws IOException {
        byte[] body = body(exchange);
        if (body == null) {
            text(exchange, Status.TOO_LARGE, "The body has more than " + maxValueBytes + " bytes. Start the server with "
                    + "a larger --max-value-bytes, or send less.");
        } else if (Query.hasPath(target, ENTITY)) {
            entity(exchange, target, body);
        } else if (Query.hasPath(target, ENTITIES)) {
            if (isGet(exchange)) {
                range(exchange, target);
            }
        } else if (Query.hasPath(target, STATUS)) {
            if (isGet(exchange)) {
                exchange.getResponseHeaders().set("Content-Type", "application/json; charset=utf-8");
                send(exchange, Status.OK, status.get().getBytes(StandardCharsets.UTF_8));
            }
        } else {
            throw new BadRequestException("There is nothing at this path. Paths are " + ENTITY + ", " + ENTITIES
                    + " and " + STATUS + ".");
        }
    }

    /** Reads the body; null if it is too large, and then it was read and thrown away. */
    private byte[] body(HttpExchange exchange) throws IOException {
        InputStream in = exchange.getRequestBody();
        Headers headers = exchange.getRequestHeaders();
        if (headers.containsKey("Transfer-Encoding")) {
            byte[] body = in.readNBytes(maxValueBytes);
            if (body.length < maxValueBytes || in.read() < 0) {
                return body;
            }
        } else {
            String announced = headers.getFirst("Content-Length");
            long length = announced == null ? 0 : Long.parseLong(announced);
            if (length <= maxValueBytes) {
                byte[] body = in.readNBytes((int) length);
                if (body.length < length) {
                    throw new EOFException("The client sent " + body.length + " of " + length + " bytes.");
                }
                return body;
            }
        }
        in.transferTo(OutputStream.nullOutputStream());
        return null;
    }

    private void entity(HttpExchange exchange, String target, byte[] body) throws IOException {
        String method = exchange.getRequestMethod();
        if (!isRead(exchange) && !method.equals("PUT") && !method.equals("DELETE")) {
            methodNotAllowed(exchange, "GET, HEAD, PUT, DELETE");
            return;
        }
        byte[] key = Query.bytes(target, "id");
        if (key == null || key.length == 0) {
            throw new BadRequestException("The parameter id is absent or empty; send " + ENTITY + "?id=KEY.");
        }
        checkReplicas(target);
        if (key.length > MAX_KEY_BYTES) {
            text(exchange, Status.TOO_LARGE, "The key has " + key.length + " bytes; at most " + MAX_KEY_BYTES
                    + " are taken.");
            return;
        }
        switch (method) {
            case "GET", "HEAD" -> {
                byte[] value = store.get(key);
                if (value == null) {
                    done(exchange, Status.NOT_FOUND);
                } else {
                    send(exchange, Status.OK, value);
                }
            }
            case "PUT" -> {
                store.put(key, body);
                done(exchange, Status.CREATED);
            }
            default -> {
                store.delete(key);
                done(exchange, Status.ACCEPTED);
            }
        }
    }

    private void done(HttpExchange exchange, Status done) throws IOException {
        if (responseText) {
            text(exchange, done, done.reason());
        } else {
            send(exchange, done, NO_BYTES);
        }
    }

    private static void checkReplicas(String target) {
        int from = Query.number(target, "from", NODES);
        int ack = Query.number(target, "ack", NODES);
        if (from != NODES || ack != NODES) {
            throw new BadRequestException("The parameters are from=" + from + " and ack=" + ack + "; this server is one "
                    + "node, so both can be 1 only.");
        }
    }

    private void range(HttpExchange exchange, String target) throws IOException {
        byte[] start = Query.bytes(target, "start");
        byte[] end = Query.bytes(target, "end");
        if (start == null || start.length == 0) {
            throw new BadRequestException("The parameter start is absent or empty; send " + ENTITIES
                    + "?start=KEY, and &end=KEY to end before a key.");
        }
        if (end != null && end.length == 0) {
            throw new BadRequestException("The parameter end is empty; leave it out to read to the last key.");
        }
        if (isHead(exchange)) {
            exchange.sendResponseHeaders(Status.OK.code(), NO_BODY);
            return;
        }
        try (Store.Entries entries = store.range(start, end)) {
            exchange.sendResponseHeaders(Status.OK.code(), CHUNKED);
            try (OutputStream out = exchange.getResponseBody()) {
                while (entries.next()) {
                    out.write(entries.key());
                    out.write('\n');
                    out.write(entries.value());
                }
            }
        }
    }

    private static boolean isGet(HttpExchange exchange) throws IOException {
        if (isRead(exchange)) {
            return true;
        }
        methodNotAllowed(exchange, "GET, HEAD");
        return false;
    }

    private static boolean isRead(HttpExchange exchange) {
        return exchange.getRequestMethod().equals("GET") || isHead(exchange);
    }

    private static boolean isHead(HttpExchange exchange) {
        return exchange.getRequestMethod().equals("HEAD");
    }

    private static void methodNotAllowed(HttpExchange exchange, String allow) throws IOException {
        exchange.getResponseHeaders().set("Allow", allow);
        send(exchange, Status.METHOD_NOT_ALLOWED, NO_BYTES);
    }

    private static void text(HttpExchange exchange, Status status, String text) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
        send(exchange, status, (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static void send(HttpExchange exchange, Status status, byte[] bytes) throws IOException {
        if (isHead(exchange)) {
            exchange.getResponseHeaders().set("Content-Length", Integer.toString(bytes.length));
        }
        if (bytes.length == 0 || isHead(exchange)) {
            exchange.sendResponseHeaders(status.code(), NO_BODY);
        } else {
            exchange.sendResponseHeaders(status.code(), bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }
}
