package lab.server.http;

import java.io.IOException;
import lab.server.api.Body;

/**
 * A response that is read piece by piece into one buffer, its head with the first. A body of known length is sent as it is.
 * One of unknown length is sent in chunks, or, to a client of HTTP/1.0, until the connection is closed.
 */
public final class BodyPieces implements AutoCloseable {

    private static final int BUFFER_BYTES = 32 * 1024;
    /** A chunk starts with its size in four hexadecimal digits and a line break. */
    private static final int CHUNK_HEAD_BYTES = 6;
    private static final int CHUNK_TAIL_BYTES = 2;
    private static final byte[] LAST_CHUNK = Bytes.ascii("0\r\n\r\n");
    private static final byte[] HEX = Bytes.ascii("0123456789abcdef");
    private static final int HEX_BITS = 4;
    private static final int HEX_MASK = 15;

    private final Body body;
    private final boolean chunked;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private int length;
    private boolean closed;

    /**
     * Reads the first piece, so that a failure to read can still get a response.
     *
     * @param request whose response it is; its connection ends with a body whose end nothing else shows
     * @param body    closed with this object, or if it cannot be read
     */
    public BodyPieces(ReceivedRequest request, Body body) {
        this.body = body;
        this.chunked = Heads.isChunked(request, body);
        byte[] head = Heads.ofStream(request, body);
        System.arraycopy(head, 0, buffer, 0, head.length);
        length = head.length;
        try {
            fill();
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private void fill() {
        if (chunked) {
            fillChunk();
        } else {
            length += body.read(buffer, length, buffer.length - length);
        }
    }

    private void fillChunk() {
        int start = length + CHUNK_HEAD_BYTES;
        int room = buffer.length - start - CHUNK_TAIL_BYTES - LAST_CHUNK.length;
        int bytes = body.read(buffer, start, room);
        if (bytes > 0) {
            for (int i = 0; i < HEX_BITS; i++) {
                buffer[length + i] = HEX[bytes >>> (HEX_BITS - 1 - i) * HEX_BITS & HEX_MASK];
            }
            buffer[start - 2] = '\r';
            buffer[start - 1] = '\n';
            length = start + bytes;
            buffer[length++] = '\r';
            buffer[length++] = '\n';
        }
        if (body.isEnded()) {
            System.arraycopy(LAST_CHUNK, 0, buffer, length, LAST_CHUNK.length);
            length += LAST_CHUNK.length;
        }
    }

    /** Where the piece is, from 0 to {@link #length()}. */
    public byte[] buffer() {
        return buffer;
    }

    /** Bytes of the piece. */
    public int length() {
        return length;
    }

    /** Whether the end of the body is in the buffer, or was. */
    public boolean isEnded() {
        return body.isEnded();
    }

    /**
     * Reads the next piece in the place of the last.
     *
     * @throws IOException if the body fails: half of it is sent, so the only way left to say it is to end the connection
     */
    public void refill() throws IOException {
        length = 0;
        try {
            fill();
        } catch (RuntimeException e) {
            close();
            throw new IOException("A response was cut short: " + e.getMessage(), e);
        }
    }

    /** Closes the body. May be called twice. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            body.close();
        }
    }
}
