package lab.server.onenio;

import java.nio.charset.StandardCharsets;
import lab.server.api.Status;

/**
 * Heads of responses as bytes. Those without a body are made once; they are only ever read, so connections share them.
 */
final class Heads {

    private static final byte[][] EMPTY_KEEP_ALIVE = new byte[Status.values().length][];
    private static final byte[][] EMPTY_CLOSE = new byte[Status.values().length][];
    private static final byte[] OK_LENGTH = ascii("HTTP/1.1 200 OK\r\nContent-Length: ");
    private static final byte[] END_KEEP_ALIVE = ascii("\r\nConnection: Keep-Alive\r\n\r\n");
    private static final byte[] END_CLOSE = ascii("\r\nConnection: close\r\n\r\n");
    /** Seconds. A queue that is full now is so for a fraction of that; less cannot be said. */
    private static final String RETRY = "Retry-After: 1\r\n";
    private static final int TEN = 10;

    static {
        for (Status status : Status.values()) {
            EMPTY_KEEP_ALIVE[status.ordinal()] = ascii(head(status, 0, "", true));
            EMPTY_CLOSE[status.ordinal()] = ascii(head(status, 0, "", false));
        }
    }

    private Heads() {
    }

    /** A whole response without a body. Not to be changed. */
    static byte[] empty(Status status, boolean keepAlive) {
        return (keepAlive ? EMPTY_KEEP_ALIVE : EMPTY_CLOSE)[status.ordinal()];
    }

    /**
     * Head of any response with a length.
     *
     * @param fields further header fields, each ended by a line break
     */
    static String head(Status status, long length, String fields, boolean keepAlive) {
        return "HTTP/1.1 " + status.code() + ' ' + status.reason() + "\r\nContent-Length: " + length + "\r\n" + fields
                + (status == Status.UNAVAILABLE ? RETRY : "")
                + "Connection: " + (keepAlive ? "Keep-Alive" : "close") + "\r\n\r\n";
    }

    /** Head of a response that is sent in chunks, or until the connection is closed. */
    static String streamHead(boolean chunked, boolean keepAlive) {
        return "HTTP/1.1 200 OK\r\n" + (chunked ? "Transfer-Encoding: chunked\r\n" : "") + "Connection: "
                + (keepAlive ? "Keep-Alive" : "close") + "\r\n\r\n";
    }

    /** Bytes of the head that {@link #putOk} writes. */
    static int okBytes(int length, boolean keepAlive) {
        return OK_LENGTH.length + digits(length) + (keepAlive ? END_KEEP_ALIVE : END_CLOSE).length;
    }

    /**
     * Writes the head of a 200 with a value, without making a text first.
     *
     * @param from where it starts
     * @return position after it
     */
    static int putOk(byte[] target, int from, int length, boolean keepAlive) {
        System.arraycopy(OK_LENGTH, 0, target, from, OK_LENGTH.length);
        int start = from + OK_LENGTH.length;
        int end = start + digits(length);
        int rest = length;
        for (int at = end - 1; at >= start; at--) {
            target[at] = (byte) ('0' + rest % TEN);
            rest /= TEN;
        }
        byte[] tail = keepAlive ? END_KEEP_ALIVE : END_CLOSE;
        System.arraycopy(tail, 0, target, end, tail.length);
        return end + tail.length;
    }

    private static int digits(int number) {
        int digits = 1;
        for (int rest = number / TEN; rest > 0; rest /= TEN) {
            digits++;
        }
        return digits;
    }

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }
}
