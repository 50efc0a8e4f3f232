package lab.server.onenio;

import java.io.IOException;
import java.util.concurrent.Semaphore;
import lab.server.api.Body;
import one.nio.net.Session;
import one.nio.net.Socket;

/**
 * A response that is read and sent piece by piece. The selector asks for the next piece when the socket takes it, so a
 * slow client costs one buffer, not the whole body.
 *
 * <p>A body of known length is sent as it is. One of unknown length is sent in chunks, or, to a client of HTTP/1.0,
 * until the connection is closed.
 */
final class StreamItem extends Session.QueueItem {

    private static final int BUFFER_BYTES = 32 * 1024;
    /** A chunk starts with its size in four hexadecimal digits and a line break. */
    private static final int CHUNK_HEAD_BYTES = 6;
    private static final int CHUNK_TAIL_BYTES = 2;
    private static final byte[] LAST_CHUNK = Heads.ascii("0\r\n\r\n");
    private static final byte[] HEX = Heads.ascii("0123456789abcdef");
    private static final int HEX_BITS = 4;
    private static final int HEX_MASK = 15;

    private final Body body;
    private final boolean chunked;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private int from;
    private int to;
    private boolean closed;

    /**
     * Reads the first piece, so that a failure to read can still get a response.
     *
     * @param body closed by this item
     */
    StreamItem(byte[] head, Body body, boolean chunked) {
        this.body = body;
        this.chunked = chunked;
        System.arraycopy(head, 0, buffer, 0, head.length);
        to = head.length;
        try {
            fill();
        } catch (RuntimeException | Error e) {
            release();
            throw e;
        }
    }

    private void fill() {
        if (chunked) {
            fillChunk();
            return;
        }
        to += body.read(buffer, to, buffer.length - to);
    }

    private void fillChunk() {
        int start = to + CHUNK_HEAD_BYTES;
        int room = buffer.length - start - CHUNK_TAIL_BYTES - LAST_CHUNK.length;
        int bytes = body.read(buffer, start, room);
        if (bytes > 0) {
            for (int i = 0; i < HEX_BITS; i++) {
                buffer[to + i] = HEX[bytes >>> (HEX_BITS - 1 - i) * HEX_BITS & HEX_MASK];
            }
            buffer[start - 2] = '\r';
            buffer[start - 1] = '\n';
            to = start + bytes;
            buffer[to++] = '\r';
            buffer[to++] = '\n';
        }
        if (body.isEnded()) {
            System.arraycopy(LAST_CHUNK, 0, buffer, to, LAST_CHUNK.length);
            to += LAST_CHUNK.length;
        }
    }

    @Override
    public int remaining() {
        return from < to || !isEnded() ? 1 : 0;
    }

    @Override
    public int write(Socket socket) throws IOException {
        if (from == to) {
            refill();
        }
        return writeBuffer(socket);
    }

    /**
     * Reads the next piece into the buffer, which was sent.
     *
     * @throws IOException if the body fails: half of it is sent, so the only way left to say it is to end the connection
     */
    void refill() throws IOException {
        from = 0;
        to = 0;
        try {
            fill();
        } catch (RuntimeException e) {
            release();
            throw new IOException("A response was cut short: " + e.getMessage(), e);
        }
    }

    /** Sends what the socket takes. After an empty piece too the selector serves others before it asks for the next. */
    private int writeBuffer(Socket socket) throws IOException {
        if (from == to) {
            return 0;
        }
        int written = socket.write(buffer, from, to - from, 0);
        if (written > 0) {
            from += written;
        }
        return written;
    }

    /** Whether the end of the body is in the buffer, or was sent. */
    boolean isEnded() {
        return body.isEnded();
    }

    /** What is in the buffer, to be sent by itself while another thread waits to read on. */
    Piece piece() {
        return new Piece();
    }

    /** One filling of the buffer. */
    final class Piece extends Session.QueueItem {

        private final Semaphore done = new Semaphore(0);

        @Override
        public int remaining() {
            return to - from;
        }

        @Override
        public int write(Socket socket) throws IOException {
            return writeBuffer(socket);
        }

        @Override
        public void release() {
            done.release();
        }

        /** Waits until it was sent or the connection has ended. */
        void awaitSent() {
            done.acquireUninterruptibly();
        }
    }

    @Override
    public void release() {
        if (!closed) {
            closed = true;
            body.close();
        }
    }
}
