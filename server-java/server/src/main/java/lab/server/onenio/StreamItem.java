package lab.server.onenio;

import java.io.IOException;
import java.util.concurrent.Semaphore;
import lab.server.http.BodyPieces;
import one.nio.net.Session;
import one.nio.net.Socket;

/**
 * A response that is sent piece by piece. The selector asks for the next piece when the socket takes it, so a slow client
 * costs one buffer, not the whole body.
 */
final class StreamItem extends Session.QueueItem {

    private final BodyPieces pieces;
    private int from;

    /**
     * @param pieces closed by this item
     */
    StreamItem(BodyPieces pieces) {
        this.pieces = pieces;
    }

    @Override
    public int remaining() {
        return from < pieces.length() || !isEnded() ? 1 : 0;
    }

    @Override
    public int write(Socket socket) throws IOException {
        if (from == pieces.length()) {
            refill();
        }
        return writePiece(socket);
    }

    /** Reads the next piece, after the last was sent. */
    void refill() throws IOException {
        from = 0;
        pieces.refill();
    }

    /** Sends what the socket takes. After an empty piece too the selector serves others before it asks for the next. */
    private int writePiece(Socket socket) throws IOException {
        if (from == pieces.length()) {
            return 0;
        }
        int written = socket.write(pieces.buffer(), from, pieces.length() - from, 0);
        if (written > 0) {
            from += written;
        }
        return written;
    }

    /** Whether the end of the body is in the last piece. */
    boolean isEnded() {
        return pieces.isEnded();
    }

    /** The piece that was read last, to be sent by itself while another thread waits to read on. */
    Piece piece() {
        return new Piece();
    }

    /** One piece. */
    final class Piece extends Session.QueueItem {

        private final Semaphore done = new Semaphore(0);

        @Override
        public int remaining() {
            return pieces.length() - from;
        }

        @Override
        public int write(Socket socket) throws IOException {
            return writePiece(socket);
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
        pieces.close();
    }
}
