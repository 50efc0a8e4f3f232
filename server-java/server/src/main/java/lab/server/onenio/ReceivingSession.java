package lab.server.onenio;

import java.io.IOException;
import java.util.Arrays;
import lab.server.api.Status;
import lab.storage.HeapFootprint;
import one.nio.http.HttpServer;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.net.Socket;
import one.nio.net.SocketClosedException;

/**
 * The receiving half of a connection. Takes the place of one-nio's, which closes the connection on a body over 64 KiB
 * and on a line over 2 KiB that comes in two pieces, and which takes a chunked body for the next request.
 *
 * <p>Back-pressure: nothing more is read while answers wait to be sent, while a large body waits for memory, or while
 * bytes that came after a request wait for its answer, which may be given later, by any thread. One request of a
 * connection is handled at a time.
 *
 * <p>All of it happens under the lock of the session; one-nio holds it while it processes an event.
 */
abstract class ReceivingSession extends HttpSession implements BodyMemory.Waiter {

    /** A head may have this many bytes, all lines together. */
    private static final int MAX_HEAD_BYTES = 128 * 1024;
    /** A body that is too large is read and thrown away up to here, so that the client can read the answer. */
    private static final long MAX_DISCARD_BYTES = 1L << 30;
    private static final byte[] CONTINUE = Heads.ascii("HTTP/1.1 100 Continue\r\n\r\n");
    private static final byte[] NO_BYTES = {};

    private final int maxBodyBytes;
    private final BodyMemory bodyMemory;

    /** Size of the selector's buffer, which one-nio fixes. */
    private int bufferBytes;
    /** Bytes that were read but not used yet; fewer than the buffer holds. */
    private byte[] rest = NO_BYTES;
    private ReceivedRequest receiving;
    private int headBytes;
    private byte[] body;
    private int bodyReceived;
    private long reservedBytes;
    private boolean waitsForMemory;
    private long discardBytes;
    private boolean endAfterDiscard;
    /** Whether {@link #receive} is under way and goes on by itself after an answer. */
    private boolean receivingNow;

    ReceivingSession(Socket socket, HttpServer server, int maxBodyBytes, BodyMemory bodyMemory) {
        super(socket, server);
        this.maxBodyBytes = maxBodyBytes;
        this.bodyMemory = bodyMemory;
    }

    @Override
    protected void processRead(byte[] buffer) throws IOException {
        if (queueHead != null || isBlockedByAnswer()) {
            // Another thread has answered, or gone on with the next request, since the selector saw this event.
            return;
        }
        bufferBytes = buffer.length;
        int length = rest.length;
        System.arraycopy(rest, 0, buffer, 0, length);
        rest = NO_BYTES;
        try {
            length += read(buffer, length, buffer.length - length);
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

    /** Takes what was read before and not used. The client may have sent all, so no event would come for these bytes. */
    private void resume() throws IOException {
        if (queueHead == null && rest.length > 0 && socket.isOpen() && !closing) {
            byte[] bytes = rest;
            rest = NO_BYTES;
            receive(bytes, bytes.length);
            if (queueHead == null && !isBlockedByAnswer() && !waitsForMemory && socket.isOpen() && !closing) {
                listen(READABLE);
            }
        }
    }

    /** Whether bytes have come that go on only when the request before them is answered. */
    private boolean isBlockedByAnswer() {
        return handling != null && rest.length > 0;
    }

    private void receive(byte[] buffer, int length) throws IOException {
        int at = 0;
        boolean needsMore = false;
        receivingNow = true;
        try {
            while (at < length && !needsMore && socket.isOpen() && !closing && queueHead == null && !waitsForMemory
                    && handling == null) {
                int next = step(buffer, at, length);
                needsMore = next < 0;
                at = needsMore ? at : next;
            }
        } finally {
            receivingNow = false;
        }
        if (at < length && !closing && socket.isOpen()) {
            rest = Arrays.copyOfRange(buffer, at, length);
            if (handling != null) {
                listen(0);
            }
        }
    }

    /** Takes the next piece; returns the position after it, or -1 if more bytes are needed first. */
    private int step(byte[] buffer, int at, int length) throws IOException {
        if (discardBytes > 0) {
            int bytes = (int) Math.min(discardBytes, length - at);
            discardBytes -= bytes;
            if (discardBytes == 0 && endAfterDiscard) {
                scheduleClose();
            }
            return at + bytes;
        }
        if (body != null) {
            int bytes = Math.min(body.length - bodyReceived, length - at);
            System.arraycopy(buffer, at, body, bodyReceived, bytes);
            bodyReceived += bytes;
            if (bodyReceived == body.length) {
                receiving.setBody(body);
                dispatch();
            }
            return at + bytes;
        }
        for (int end = at; end < length; end++) {
            if (buffer[end] == '\n') {
                line(buffer, at, end > at && buffer[end - 1] == '\r' ? end - 1 : end);
                headBytes += end + 1 - at;
                if (headBytes > MAX_HEAD_BYTES) {
                    rejectHead();
                }
                return end + 1;
            }
        }
        // A full buffer without an end of line could never be completed.
        if (length - at >= bufferBytes) {
            rejectHead();
            return length;
        }
        return -1;
    }

    private void rejectHead() throws IOException {
        receiving = ReceivedRequest.unreadable(Status.HEAD_TOO_LARGE, "The head of the request is too large; a line may "
                + "have " + (bufferBytes - 1) + " bytes and all lines " + MAX_HEAD_BYTES + ".");
        dispatch();
    }

    private void line(byte[] buffer, int from, int to) throws IOException {
        if (receiving == null) {
            // Empty lines before a request are allowed and mean nothing.
            if (from < to) {
                receiving = HeadParser.requestLine(buffer, from, to);
                if (receiving.rejection != null) {
                    dispatch();
                }
            }
        } else if (from < to) {
            HeadParser.headerLine(receiving, buffer, from, to);
        } else {
            endOfHead();
        }
    }

    private void endOfHead() throws IOException {
        ReceivedRequest request = receiving;
        if (request.chunkedBody) {
            request.reject(Status.LENGTH_REQUIRED,
                    "The body comes in chunks; send it with the header field Content-Length.");
            request.keepAlive = false;
        }
        if (request.rejection != null || request.contentLength <= 0) {
            dispatch();
        } else if (request.contentLength > maxBodyBytes) {
            rejectBody(request);
        } else if (request.contentLength <= BodyMemory.UNCOUNTED_BYTES) {
            startBody(false);
        } else if (bodyMemory.reserve(this)) {
            try {
                startBody(true);
            } catch (OutOfMemoryError e) {
                waitForMemory();
                BodyMemory.retryLater(this);
            }
        } else {
            waitForMemory();
        }
    }

    private void waitForMemory() {
        waitsForMemory = true;
        listen(0);
    }

    private void rejectBody(ReceivedRequest request) throws IOException {
        request.reject(Status.TOO_LARGE, "The body has " + request.contentLength + " bytes; at most " + maxBodyBytes
                + " are taken. Start the server with a larger --max-value-bytes, or send less.");
        if (request.expectsContinue || request.contentLength > MAX_DISCARD_BYTES) {
            // The first has not sent its body and may send it or not; the second would send for too long.
            request.keepAlive = false;
        } else {
            discardBytes = request.contentLength;
        }
        dispatch();
    }

    private void startBody(boolean reserved) throws IOException {
        int length = (int) receiving.contentLength;
        body = new byte[length];
        bodyReceived = 0;
        reservedBytes = reserved ? neededBytes() : 0;
        if (receiving.expectsContinue) {
            write(CONTINUE, 0, CONTINUE.length);
        }
    }

    @Override
    public long neededBytes() {
        return HeapFootprint.ofArray(receiving.contentLength);
    }

    @Override
    public synchronized void roomReserved() {
        if (!waitsForMemory) {
            // Closed in the meantime, before it could leave the queue.
            bodyMemory.release(neededBytes());
            return;
        }
        try {
            startBody(true);
            waitsForMemory = false;
            // A body of this size is never wholly in the rest, so there is an event to come.
            if (queueHead == null) {
                listen(READABLE);
            }
        } catch (OutOfMemoryError e) {
            // The heap has room for it but not right now, or not in one piece. The client waits a little longer.
            BodyMemory.retryLater(this);
        } catch (IOException | RuntimeException e) {
            handleException(e);
        }
    }

    private void dispatch() throws IOException {
        parsing = receiving;
        receiving = null;
        body = null;
        headBytes = 0;
        handleParsedRequest();
    }

    private void giveBackMemory() {
        if (reservedBytes > 0) {
            long bytes = reservedBytes;
            reservedBytes = 0;
            bodyMemory.release(bytes);
        }
    }

    /** Ends the connection when the answers are sent and a body that is not wanted has been read. */
    final void endAfterAnswer() {
        if (discardBytes > 0) {
            endAfterDiscard = true;
        } else {
            scheduleClose();
        }
    }

    /** Goes on after an answer. Its request is over, and so is the memory of its body. */
    final void nextInPipeline() throws IOException {
        Request next = pipeline.pollFirst();
        handling = null;
        giveBackMemory();
        if (next == FIN) {
            scheduleClose();
        } else if (!receivingNow) {
            resume();
        }
    }

    @Override
    public synchronized void close() {
        super.close();
        giveBackMemory();
        if (waitsForMemory) {
            waitsForMemory = false;
            // If it is no longer in the queue, the room reserved for it is given back when it is told.
            bodyMemory.cancel(this);
        }
        rest = NO_BYTES;
        body = null;
    }
}
