package lab.server.http;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lab.server.api.Body;
import lab.server.api.Status;

/**
 * Heads of responses as bytes. Those without a body are made once; they are only ever read, so connections share them.
 */
public final class Heads {

    /** Says that a body is wanted. Not to be changed. */
    public static final byte[] CONTINUE = Bytes.ascii("HTTP/1.1 100 Continue\r\n\r\n");
    /** Of a text. */
    public static final String TEXT = "Content-Type: text/plain; charset=utf-8\r\n";
    /** Of JSON. */
    public static final String JSON = "Content-Type: application/json; charset=utf-8\r\n";

    private static final byte[][] EMPTY_KEEP_ALIVE = new byte[Status.values().length][];
    private static final byte[][] EMPTY_CLOSE = new byte[Status.values().length][];
    private static final byte[] OK_LENGTH = Bytes.ascii("HTTP/1.1 200 OK\r\nContent-Length: ");
    private static final byte[] END_KEEP_ALIVE = Bytes.ascii("\r\nConnection: Keep-Alive\r\n\r\n");
    private static final byte[] END_CLOSE = Bytes.ascii("\r\nConnection: close\r\n\r\n");
    /** Seconds. A queue that is full now is so for a fraction of that; less cannot be said. */
    private static final String RETRY = "Retry-After: 1\r\n";
    private static final int TEN = 10;

    static {
        for (Status status : Status.values()) {
            EMPTY_KEEP_ALIVE[status.ordinal()] = Bytes.ascii(head(status, 0, "", true));
            EMPTY_CLOSE[status.ordinal()] = Bytes.ascii(head(status, 0, "", false));
        }
    }

    private Heads() {
    }

    /** A whole response without a body. Not to be changed. */
    public static byte[] empty(Status status, boolean keepAlive) {
        return (keepAlive ? EMPTY_KEEP_ALIVE : EMPTY_CLOSE)[status.ordinal()];
    }

    /**
     * A whole response; to a HEAD, its head.
     *
     * @param fields further header fields, each ended by a line break
     */
    public static byte[] response(ReceivedRequest request, Status status, String fields, byte[] body) {
        byte[] head = Bytes.ascii(head(status, body.length, fields, request.keepAlive()));
        int bodyBytes = request.isHead() ? 0 : body.length;
        byte[] bytes = new byte[head.length + bodyBytes];
        System.arraycopy(head, 0, bytes, 0, head.length);
        System.arraycopy(body, 0, bytes, head.length, bodyBytes);
        return bytes;
    }

    private static String head(Status status, long length, String fields, boolean keepAlive) {
        return "HTTP/1.1 " + status.code() + ' ' + status.reason() + "\r\nContent-Length: " + length + "\r\n" + fields
                + (status == Status.UNAVAILABLE ? RETRY : "") + connection(keepAlive);
    }

    private static String connection(boolean keepAlive) {
        return "Connection: " + (keepAlive ? "Keep-Alive" : "close") + "\r\n\r\n";
    }

    /** Head of a 200 whose body is read piece by piece. A body without a length ends a connection that knows no chunks. */
    public static byte[] ofStream(ReceivedRequest request, Body body) {
        if (body.length() != Body.UNKNOWN_LENGTH) {
            return Bytes.ascii(head(Status.OK, body.length(), "", request.keepAlive()));
        }
        if (!request.isHttp11()) {
            request.endConnection();
        }
        return Bytes.ascii("HTTP/1.1 200 OK\r\n" + (isChunked(request, body) ? "Transfer-Encoding: chunked\r\n" : "")
                + connection(request.keepAlive()));
    }

    static boolean isChunked(ReceivedRequest request, Body body) {
        return body.length() == Body.UNKNOWN_LENGTH && request.isHttp11();
    }

    /** A whole 200 with a value; to a HEAD, its head. */
    static byte[] ok(ReceivedRequest request, MemorySegment value) {
        byte[] response = new byte[okBytes(request, value)];
        putOk(response, 0, request, value);
        return response;
    }

    /** Bytes of the response that {@link #putOk} writes. */
    public static int okBytes(ReceivedRequest request, MemorySegment value) {
        int length = (int) value.byteSize();
        return okHeadBytes(length, request.keepAlive()) + (request.isHead() ? 0 : length);
    }

    private static int okHeadBytes(int length, boolean keepAlive) {
        return OK_LENGTH.length + digits(length) + (keepAlive ? END_KEEP_ALIVE : END_CLOSE).length;
    }

    /**
     * Writes a 200 with a value, without making a text of its head first.
     *
     * @param from where it starts
     */
    public static void putOk(byte[] target, int from, ReceivedRequest request, MemorySegment value) {
        int length = (int) value.byteSize();
        System.arraycopy(OK_LENGTH, 0, target, from, OK_LENGTH.length);
        int start = from + OK_LENGTH.length;
        int end = start + digits(length);
        int rest = length;
        for (int at = end - 1; at >= start; at--) {
            target[at] = (byte) ('0' + rest % TEN);
            rest /= TEN;
        }
        byte[] tail = request.keepAlive() ? END_KEEP_ALIVE : END_CLOSE;
        System.arraycopy(tail, 0, target, end, tail.length);
        if (!request.isHead()) {
            MemorySegment.copy(value, ValueLayout.JAVA_BYTE, 0, target, end + tail.length, length);
        }
    }

    private static int digits(int number) {
        int digits = 1;
        for (int rest = number / TEN; rest > 0; rest /= TEN) {
            digits++;
        }
        return digits;
    }
}
