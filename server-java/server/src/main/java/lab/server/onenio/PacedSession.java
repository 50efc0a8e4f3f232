package lab.server.onenio;

import java.io.IOException;
import java.util.Arrays;
import one.nio.http.HttpServer;
import one.nio.http.HttpSession;
import one.nio.net.Socket;
import one.nio.net.SocketClosedException;

/**
 * A connection that reads no faster than it responds: nothing more is read while a request is handled, while responses wait
 * to be sent, nor while a large body waits for memory. Requests of one connection are so handled one after the other and
 * get responses in their order, whichever threads handle them, and a client that sends and never reads costs one buffer.
 *
 * <p>Everything here runs with the monitor of the session held, on its selector, or on the thread that has responded.
 */
abstract class PacedSession extends HttpSession {

    private static final byte[] NO_BYTES = {};

    /** Size of the selector's buffer, which one-nio fixes. */
    private int bufferBytes;
    /** Bytes that were read but not used yet; fewer than the buffer holds. */
    private byte[] rest = NO_BYTES;
    /** Whether there may be a whole request in {@link #rest}, for the selector to go on with. */
    private boolean restPending;
    private boolean inReceive;
    /** What is being received from, and how much of it that takes. */
    private byte[] receiveBuffer = NO_BYTES;
    private int receivedBytes;

    PacedSession(Socket socket, HttpServer server) {
        super(socket, server);
    }

    /**
     * Takes the next piece of what was received.
     *
     * @param buffer bytes from the connection
     * @param at     position of the first that was not taken yet
     * @param end    position after the last
     * @return position after what was taken, or -1 if more bytes are needed first
     */
    abstract int step(byte[] buffer, int at, int end) throws IOException;

    /** Called when nothing more can be taken for now. */
    abstract void received();

    /** Sends responses that were held back to be sent together. */
    abstract void flushResponses() throws IOException;

    /** Whether {@link #step} is under way, and what it was given is used until it returns. */
    final boolean isReceiving() {
        return inReceive;
    }

    /** Bytes that are read at a time: what is read and not used yet takes heap that nobody counts. */
    abstract int readLimit();

    /** Whether reading must wait for something else than a response. */
    abstract boolean isHeldUp();

    /** Room behind what was received, to be used until {@link #step} returns; none unless it {@link #isReceiving()}. */
    final int spareBytes() {
        return inReceive ? receiveBuffer.length - receivedBytes : 0;
    }

    /** Where {@link #spareBytes()} are, from {@link #spareStart()} on. */
    final byte[] spareBuffer() {
        return receiveBuffer;
    }

    final int spareStart() {
        return receivedBytes;
    }

    final int bufferBytes() {
        return bufferBytes;
    }

    private boolean mayReceive() {
        return queueHead == null && handling == null && !isHeldUp() && !closing && socket.isOpen();
    }

    /** Does nothing if another thread has closed the connection since the selector saw its event. */
    @Override
    public synchronized void process(byte[] buffer) throws Exception {
        if (socket.isOpen()) {
            super.process(buffer);
        }
    }

    @Override
    protected void processRead(byte[] buffer) throws IOException {
        if (!mayReceive()) {
            // What the client sends too early stays in the socket. No event must come for it until it is wanted.
            listen(queueHead == null ? 0 : WRITEABLE);
            return;
        }
        if (restPending) {
            // A client that has sent all it wants and closed its half gets responses to all of it.
            resume();
            return;
        }
        bufferBytes = buffer.length;
        int length = rest.length;
        System.arraycopy(rest, 0, buffer, 0, length);
        rest = NO_BYTES;
        try {
            length += read(buffer, length, Math.min(readLimit(), buffer.length - length));
        } catch (SocketClosedException e) {
            handleSocketClosed();
            return;
        }
        receive(buffer, length);
    }

    @Override
    protected void processWrite() throws Exception {
        super.processWrite();
        resume();
    }

    /** Goes on with what was received meanwhile, then reads again. */
    final void resume() throws IOException {
        if (inReceive || !mayReceive()) {
            return;
        }
        restPending = false;
        if (rest.length > 0) {
            // The client may have sent all it wants to send, so no event would come for these bytes.
            byte[] bytes = rest;
            rest = NO_BYTES;
            receive(bytes, bytes.length);
        }
        if (mayReceive()) {
            listen(READABLE);
        }
    }

    /** Has the selector go on, at once if something was received meanwhile: the socket can always be written to. */
    final void resumeOnSelector() {
        if (!inReceive && mayReceive()) {
            restPending = rest.length > 0;
            listen(restPending ? WRITEABLE : READABLE);
        }
    }

    private void receive(byte[] buffer, int length) throws IOException {
        int at = 0;
        inReceive = true;
        receiveBuffer = buffer;
        receivedBytes = length;
        try {
            while (at < length && mayReceive()) {
                int next = step(buffer, at, length);
                if (next < 0) {
                    break;
                }
                at = next;
            }
        } finally {
            inReceive = false;
            receiveBuffer = NO_BYTES;
        }
        flushResponses();
        if (at < length && !closing && socket.isOpen()) {
            rest = Arrays.copyOfRange(buffer, at, length);
        }
        received();
    }

    /** Whether bytes lie here that were read and not used yet. */
    final boolean hasRest() {
        return rest.length > 0;
    }

    @Override
    public synchronized void close() {
        super.close();
        rest = NO_BYTES;
    }
}
