package lab.server.onenio;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import lab.server.api.Body;
import lab.server.api.BodyMemory;
import lab.server.api.Exchange;
import lab.server.api.Method;
import lab.server.api.Status;
import one.nio.http.HttpServer;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.net.Socket;

/**
 * A connection as the exchange of the request that it handles: what was asked, and the bytes of the response.
 * Responses are written as bytes: one-nio's {@link Response} builds a list of texts first, and changes the object that it
 * is given.
 */
abstract class ExchangeSession extends SendingSession implements Exchange {

    private static final MemorySegment NO_BYTES = MemorySegment.ofArray(Response.EMPTY);
    private static final String TEXT_FIELD = "Content-Type: text/plain; charset=utf-8\r\n";
    private static final String JSON_FIELD = "Content-Type: application/json; charset=utf-8\r\n";

    ExchangeSession(Socket socket, HttpServer server, Limits limits, BodyMemory.Rooms rooms) {
        super(socket, server, limits, rooms);
    }

    /** Sends a whole response. */
    abstract void deliver(byte[] bytes) throws IOException;

    /** Sends a response piece by piece, as the client takes it. */
    abstract void deliver(StreamItem response) throws IOException;

    /** The same, but each piece is read by this thread; returns when all are on their way. */
    abstract void deliverPieces(StreamItem response) throws IOException;

    @Override
    public Method method() {
        return switch (handling.getMethod()) {
            case Request.METHOD_GET -> Method.GET;
            case Request.METHOD_PUT -> Method.PUT;
            case Request.METHOD_DELETE -> Method.DELETE;
            default -> Method.OTHER;
        };
    }

    @Override
    public String target() {
        return handling.getURI();
    }

    @Override
    public boolean internal() {
        return ((ReceivedRequest) handling).internal;
    }

    @Override
    public MemorySegment body() {
        byte[] body = handling.getBody();
        return body == null ? NO_BYTES : MemorySegment.ofArray(body);
    }

    @Override
    public void respond(Status status) throws IOException {
        deliver(Heads.empty(status, current().keepAlive));
    }

    @Override
    public void respond(Status status, String text) throws IOException {
        respond(status, TEXT_FIELD, (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void respondMethodNotAllowed(String allow) throws IOException {
        respond(Status.METHOD_NOT_ALLOWED, "Allow: " + allow + "\r\n", Response.EMPTY);
    }

    @Override
    public void respondJson(String json) throws IOException {
        respond(Status.OK, JSON_FIELD, json.getBytes(StandardCharsets.UTF_8));
    }

    private void respond(Status status, String fields, byte[] body) throws IOException {
        ReceivedRequest request = current();
        byte[] head = Heads.ascii(Heads.head(status, body.length, fields, request.keepAlive));
        int bodyBytes = request.getMethod() == Request.METHOD_HEAD ? 0 : body.length;
        byte[] bytes = new byte[head.length + bodyBytes];
        System.arraycopy(head, 0, bytes, 0, head.length);
        System.arraycopy(body, 0, bytes, head.length, bodyBytes);
        deliver(bytes);
    }

    @Override
    public void respondStream(Body body) throws IOException {
        ReceivedRequest request;
        try {
            request = current();
        } catch (IllegalStateException e) {
            body.close();
            throw e;
        }
        boolean chunked = body.length() == Body.UNKNOWN_LENGTH && request.isHttp11();
        if (body.length() == Body.UNKNOWN_LENGTH && !chunked) {
            request.keepAlive = false;
        }
        String head = body.length() == Body.UNKNOWN_LENGTH ? Heads.streamHead(chunked, request.keepAlive)
                : Heads.head(Status.OK, body.length(), "", request.keepAlive);
        StreamItem response = new StreamItem(Heads.ascii(head), body, chunked);
        if (body.waits()) {
            deliverPieces(response);
        } else {
            deliver(response);
        }
    }

    /** The request to respond to. */
    final ReceivedRequest current() {
        if (hasResponse()) {
            throw new IllegalStateException("This request already has a response.");
        }
        return (ReceivedRequest) handling;
    }
}
