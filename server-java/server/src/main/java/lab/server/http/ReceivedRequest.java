package lab.server.http;

import java.lang.foreign.MemorySegment;
import lab.server.api.Method;
import lab.server.api.Status;

/** What the head of a request says, and its body once that was received. */
public final class ReceivedRequest {

    private static final MemorySegment NO_BYTES = MemorySegment.ofArray(new byte[0]);

    private final Method method;
    private final boolean head;
    private final String target;
    private final boolean http11;
    /** Announced length of the body, or -1. */
    long contentLength = -1;
    boolean chunked;
    boolean expectsContinue;
    boolean internal;
    boolean hasHost;
    boolean keepAlive;
    private boolean lastOnConnection;
    private Status rejection;
    private String rejectionText;
    private byte[] body;

    /**
     * @param method what is to be done; that of a HEAD is GET
     * @param head   whether the response is to have no body, as that to a HEAD
     * @param target path and query, a character for each byte
     */
    ReceivedRequest(Method method, boolean head, String target, boolean http11) {
        this.method = method;
        this.head = head;
        this.target = target;
        this.http11 = http11;
        keepAlive = http11;
    }

    /** What is to be done. */
    public Method method() {
        return method;
    }

    /** Whether the response is to have the head that it would have for a GET, and no body. */
    public boolean isHead() {
        return head;
    }

    /** Path and query as they were sent, a character for each byte. */
    public String target() {
        return target;
    }

    /** Whether the client knows chunks. */
    public boolean isHttp11() {
        return http11;
    }

    /** Whether the connection stays open after the response. */
    public boolean keepAlive() {
        return keepAlive && !lastOnConnection;
    }

    /** Has the connection end after the response, whatever else the head says. */
    public void endConnection() {
        lastOnConnection = true;
    }

    /** Whether the client waits for the word that its body is wanted. */
    public boolean expectsContinue() {
        return expectsContinue;
    }

    /** Whether another node of the cluster sent it. */
    public boolean isInternal() {
        return internal;
    }

    /** If not null, the request gets this response instead of being handled. */
    public Status rejection() {
        return rejection;
    }

    /** What was wrong and what to do. */
    public String rejectionText() {
        return rejectionText;
    }

    /** Has the request not be handled. */
    public void reject(Status status, String text) {
        rejection = status;
        rejectionText = text;
    }

    /** Has it refused because its body is too large. */
    public void rejectBody(Limits limits) {
        String size = chunked ? "more than " + limits.bodyBytes() : Long.toString(contentLength);
        reject(Status.TOO_LARGE, "The body has " + size + " bytes; at most " + limits.bodyBytes()
                + " are taken. Start the server with a larger --max-value-bytes, or send less.");
    }

    /** Has it refused because its chunks cannot be read, and nothing behind them. */
    public void rejectChunks() {
        reject(Status.BAD_REQUEST, "The chunks of the body cannot be read; send for each its size in hexadecimal digits, "
                + "CR LF, its bytes and CR LF, and 0 as the last size.");
        endConnection();
    }

    /** The body; empty if there is none. */
    public MemorySegment body() {
        return body == null ? NO_BYTES : MemorySegment.ofArray(body);
    }

    /** Sets the body. */
    public void receiveBody(byte[] bytes) {
        body = bytes;
    }
}
