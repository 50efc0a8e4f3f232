package lab.server.cluster;

import java.io.IOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/** Reads responses with a length, one after the other, as they come in pieces of any size. */
final class ResponseParser {

    /** Called for each response. */
    @FunctionalInterface
    interface Sink {
        /**
         * @param body belongs to whoever is called
         */
        void received(int status, byte[] body) throws IOException;
    }

    private static final int BUFFER_BYTES = 64 * 1024;
    private static final int STATUS_AT = 9;
    private static final int STATUS_END = 12;
    private static final int TEN = 10;
    private static final int LOWER = 0x20;
    private static final int MAX_BODY_BYTES = Integer.MAX_VALUE - 64;
    private static final byte[] LENGTH = PeerRequest.ascii("content-length:");
    private static final byte[] NO_BYTES = {};

    private final Sink sink;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private final ByteBuffer view = ByteBuffer.wrap(buffer);
    private int status;
    private byte[] body;
    private int bodyRead;

    ResponseParser(Sink sink) {
        this.sink = sink;
    }

    /** Forgets a response that is half read. */
    void reset() {
        view.clear();
        body = null;
    }

    /**
     * Reads what there is, once.
     *
     * @return bytes read, or -1 at the end
     */
    int readFrom(ReadableByteChannel channel) throws IOException {
        int bytes = channel.read(view);
        int end = view.position();
        int at = 0;
        while (at < end) {
            int next = body == null ? head(at, end) : body(at, end);
            if (next < 0) {
                break;
            }
            at = next;
        }
        System.arraycopy(buffer, at, buffer, 0, end - at);
        view.clear().position(end - at);
        if (!view.hasRemaining()) {
            throw new ProtocolException("the head of a response has more than " + BUFFER_BYTES + " bytes");
        }
        return bytes;
    }

    private int body(int at, int end) throws IOException {
        int bytes = Math.min(end - at, body.length - bodyRead);
        System.arraycopy(buffer, at, body, bodyRead, bytes);
        bodyRead += bytes;
        if (bodyRead == body.length) {
            received(body);
        }
        return at + bytes;
    }

    private void received(byte[] whole) throws IOException {
        body = null;
        sink.received(status, whole);
    }

    /** Reads a head; -1 if its end has not come yet. */
    private int head(int from, int end) throws IOException {
        int length = 0;
        boolean first = true;
        for (int line = from; line < end; ) {
            int lineEnd = line;
            while (lineEnd < end && buffer[lineEnd] != '\n') {
                lineEnd++;
            }
            if (lineEnd == end) {
                return -1;
            }
            if (first) {
                status = statusOf(line, lineEnd);
                first = false;
            } else if (lineEnd - line <= 1) {
                bodyRead = 0;
                if (length == 0) {
                    received(NO_BYTES);
                } else {
                    body = new byte[length];
                }
                return lineEnd + 1;
            } else if (isLength(line, lineEnd)) {
                length = number(line + LENGTH.length, lineEnd);
            }
            line = lineEnd + 1;
        }
        return -1;
    }

    private int statusOf(int line, int lineEnd) throws IOException {
        if (lineEnd - line < STATUS_END || buffer[line] != 'H' || buffer[line + STATUS_AT - 1] != ' ') {
            throw new ProtocolException("a response does not begin with HTTP/1.1 and a number");
        }
        return number(line + STATUS_AT, line + STATUS_END);
    }

    private boolean isLength(int line, int lineEnd) {
        if (lineEnd - line <= LENGTH.length) {
            return false;
        }
        for (int i = 0; i < LENGTH.length; i++) {
            if ((buffer[line + i] | LOWER) != (LENGTH[i] | LOWER)) {
                return false;
            }
        }
        return true;
    }

    private int number(int from, int to) throws IOException {
        long number = 0;
        for (int i = from; i < to; i++) {
            int digit = buffer[i] - '0';
            if (digit >= 0 && digit < TEN) {
                number = number * TEN + digit;
            } else if (buffer[i] != ' ' && buffer[i] != '\r') {
                number = Long.MAX_VALUE;
            }
            if (number > MAX_BODY_BYTES) {
                throw new ProtocolException("a response has a number that is none or too large");
            }
        }
        return (int) number;
    }
}
