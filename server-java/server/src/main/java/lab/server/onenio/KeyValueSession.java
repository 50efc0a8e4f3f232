package lab.server.onenio;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import lab.server.api.Body;
import lab.server.api.Exchange;
import lab.server.api.Method;
import lab.server.api.Status;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.net.Socket;

/**
 * One connection, and the exchange of the request that it handles. Answers are written as bytes: one-nio's
 * {@link Response} builds a list of texts first, and changes the object that it is given. Any thread may answer; the lock
 * of the session keeps it apart from the selector.
 */
final class KeyValueSession extends ReceivingSession implements Exchange {

    private static final MemorySegment NO_BYTES = MemorySegment.ofArray(Response.EMPTY);
    private static final String TEXT_FIELD = "Content-Type: text/plain; charset=utf-8\r\n";
    private static final String JSON_FIELD = "Content-Type: application/json; charset=utf-8\r\n";

    private final KeyValueServer owner;

    KeyValueSession(Socket socket, KeyValueServer owner, int maxBodyBytes, BodyMemory bodyMemory) {
        super(socket, owner, maxBodyBytes, bodyMemory);
        this.owner = owner;
    }

    private ReceivedRequest current() throws IOException {
        Request request = handling;
        if (request == null) {
            throw new IOException("This request was already answered.");
        }
        return (ReceivedRequest) request;
    }

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
    public synchronized void respond(Status status) throws IOException {
        ReceivedRequest request = current();
        byte[] bytes = Heads.empty(status, request.keepAlive);
        write(bytes, 0, bytes.length);
        answered(request);
    }

    @Override
    public synchronized void respond(Status status, String text) throws IOException {
        respond(status, TEXT_FIELD, (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public synchronized void respondMethodNotAllowed(String allow) throws IOException {
        respond(Status.METHOD_NOT_ALLOWED, "Allow: " + allow + "\r\n", Response.EMPTY);
    }

    @Override
    public synchronized void respondJson(String json) throws IOException {
        respond(Status.OK, JSON_FIELD, json.getBytes(StandardCharsets.UTF_8));
    }

    private void respond(Status status, String fields, byte[] body) throws IOException {
        ReceivedRequest request = current();
        byte[] head = Heads.ascii(Heads.head(status, body.length, fields, request.keepAlive));
        int bodyBytes = request.getMethod() == Request.METHOD_HEAD ? 0 : body.length;
        byte[] bytes = new byte[head.length + bodyBytes];
        System.arraycopy(head, 0, bytes, 0, head.length);
        System.arraycopy(body, 0, bytes, head.length, bodyBytes);
        write(bytes, 0, bytes.length);
        answered(request);
    }

    @Override
    public synchronized void respondValue(MemorySegment value) throws IOException {
        ReceivedRequest request = current();
        int length = (int) value.byteSize();
        byte[] bytes = new byte[Heads.okBytes(length, request.keepAlive) + length];
        int at = Heads.putOk(bytes, length, request.keepAlive);
        MemorySegment.copy(value, ValueLayout.JAVA_BYTE, 0, bytes, at, length);
        write(bytes, 0, bytes.length);
        answered(request);
    }

    @Override
    public synchronized void respondStream(Body body) throws IOException {
        StreamItem item;
        ReceivedRequest request;
        try {
            request = current();
        } catch (IOException e) {
            body.close();
            throw e;
        }
        boolean chunked = body.length() == Body.UNKNOWN_LENGTH && request.isHttp11();
        if (body.length() == Body.UNKNOWN_LENGTH && !chunked) {
            request.keepAlive = false;
        }
        String head = body.length() == Body.UNKNOWN_LENGTH ? Heads.streamHead(chunked, request.keepAlive)
                : Heads.head(Status.OK, body.length(), "", request.keepAlive);
        item = new StreamItem(Heads.ascii(head), body, chunked);
        write(item);
        answered(request);
    }

    @Override
    public void abort(Exception cause) {
        handleException(cause);
    }

    private void answered(ReceivedRequest request) throws IOException {
        owner.incRequestsProcessed();
        if (!request.keepAlive) {
            endAfterAnswer();
        }
        nextInPipeline();
    }
}
