package lab.server.onenio;

import java.io.IOException;
import lab.server.api.BodyMemory;
import lab.server.api.Exchange;
import lab.server.api.Status;
import lab.storage.HeapFootprint;
import one.nio.http.HttpServer;
import one.nio.net.Session;
import one.nio.net.Socket;

/**
 * The receiving half of a connection: makes requests of bytes, one at a time. Takes the place of one-nio's, which closes
 * the connection on a body over 64 KiB and on a line over 2 KiB that comes in two pieces, and which takes a chunked body
 * for the next request.
 */
abstract class ReceivingSession extends PacedSession implements BodyMemory.Waiter {

    /** A body that is too large is read and thrown away up to here, so that the client can read the response. */
    static final long MAX_SKIP_BYTES = 1L << 30;
    private static final byte[] CONTINUE = Heads.ascii("HTTP/1.1 100 Continue\r\n\r\n");

    private final Limits limits;
    private final BodyMemory.Rooms rooms;

    private ReceivedRequest receiving;
    private int headBytes;
    private IncomingBody body;
    /** Whether the body is of a request that already has a response. */
    private boolean bodyUnwanted;
    private boolean endAfterBody;
    /** Whether more has come than the request that is being handled. */
    private boolean followed;
    private BodyMemory reservedIn;
    private long reservedBytes;
    /** What was asked for last; not changed while the connection waits, for others read it. */
    private BodyMemory wantedIn;
    private volatile long wantedBytes;
    private volatile boolean waitsForMemory;
    /** Whether the last request came from another node. */
    private volatile boolean fromNode;

    ReceivingSession(Socket socket, HttpServer server, Limits limits, BodyMemory.Rooms rooms) {
        super(socket, server);
        this.limits = limits;
        this.rooms = rooms;
    }

    /** Handles a request that was received whole. When it is done, {@link #requestDone} is called. */
    abstract void begin(ReceivedRequest request) throws IOException;

    /** Whether requests lie ready behind the one that is being served, so that their responses may leave together. */
    final boolean isFollowed() {
        return isReceiving() && followed;
    }

    @Override
    final int readLimit() {
        return rooms.small().isCrowded() || rooms.large().isCrowded() ? BodyMemory.UNCOUNTED_BYTES : Integer.MAX_VALUE;
    }

    @Override
    final boolean isHeldUp() {
        return waitsForMemory;
    }

    @Override
    final int step(byte[] buffer, int at, int length) throws IOException {
        if (body != null) {
            int next = body.take(buffer, at, length);
            followed = next < length;
            afterBodyBytes();
            return next;
        }
        for (int end = at; end < length; end++) {
            if (buffer[end] == '\n') {
                headBytes += end + 1 - at;
                followed = end + 1 < length;
                line(buffer, at, end > at && buffer[end - 1] == '\r' ? end - 1 : end);
                return end + 1;
            }
        }
        // A full buffer without an end of line could never be completed.
        if (length - at >= Math.min(bufferBytes(), limits.headBytes())) {
            rejectHead();
            return length;
        }
        return -1;
    }

    private void line(byte[] buffer, int from, int to) throws IOException {
        if (headBytes > limits.headBytes()) {
            rejectHead();
        } else if (receiving == null) {
            // Empty lines before a request are allowed and mean nothing.
            if (from < to) {
                receiving = HeadParser.requestLine(buffer, from, to);
                if (receiving.rejection != null) {
                    dispatch();
                }
            }
        } else if (from < to) {
            HeadParser.headerLine(receiving, buffer, from, to, limits.secret());
        } else {
            endOfHead();
        }
    }

    private void rejectHead() throws IOException {
        receiving = ReceivedRequest.unreadable(Status.HEAD_TOO_LARGE, "The head of the request is too large; a line may "
                + "have " + (Math.min(bufferBytes(), limits.headBytes()) - 1) + " bytes and all lines "
                + limits.headBytes() + ". Send less, or start the server with a larger --max-head-bytes.");
        dispatch();
    }

    private void endOfHead() throws IOException {
        ReceivedRequest request = receiving;
        fromNode = request.internal;
        if (request.chunkedBody) {
            HeadParser.checkChunked(request);
        }
        if (request.rejection != null || !request.chunkedBody && request.contentLength <= 0) {
            dispatch();
        } else if (request.chunkedBody) {
            body = new ChunkedBody(limits.bodyBytes(), limits.headBytes());
            askForBody();
        } else if (request.contentLength > limits.bodyBytes() + (request.internal ? Exchange.INTERNAL_EXTRA_BYTES : 0)) {
            rejectBody(new SkippedBody(request.contentLength), request.contentLength > MAX_SKIP_BYTES);
        } else if (request.contentLength <= BodyMemory.UNCOUNTED_BYTES) {
            body = new FixedBody((int) request.contentLength);
            askForBody();
        } else {
            reserveOrWait();
        }
    }

    private void askForBody() throws IOException {
        if (receiving.expectsContinue) {
            flushResponses();
            write(CONTINUE, 0, CONTINUE.length);
        }
    }

    private void afterBodyBytes() throws IOException {
        if (body instanceof ChunkedBody chunks) {
            if (chunks.isMalformed()) {
                rejectChunks();
                return;
            } else if (chunks.isTooLarge()) {
                chunks.skipRest();
                giveBackMemory();
                rejectBody(chunks, false);
                return;
            } else if (chunks.needsRoom()) {
                reserveOrWait();
                return;
            }
        }
        if (body.isComplete()) {
            IncomingBody received = body;
            body = null;
            if (bodyUnwanted) {
                bodyUnwanted = false;
                if (endAfterBody) {
                    scheduleClose();
                }
            } else {
                receiving.setBody(received.bytes());
                dispatch();
            }
        }
    }

    private void rejectChunks() throws IOException {
        body = null;
        if (bodyUnwanted) {
            // It has a response already.
            scheduleClose();
        } else {
            receiving.reject(Status.BAD_REQUEST, "The chunks of the body cannot be read; send for each its size in "
                    + "hexadecimal digits, a line break, its bytes and a line break, and 0 as the last size.");
            receiving.keepAlive = false;
            dispatch();
        }
    }

    private void rejectBody(IncomingBody unwanted, boolean tooLong) throws IOException {
        ReceivedRequest request = receiving;
        String size = request.chunkedBody ? "more than " + limits.bodyBytes() : Long.toString(request.contentLength);
        request.reject(Status.TOO_LARGE, "The body has " + size + " bytes; at most " + limits.bodyBytes()
                + " are taken. Start the server with a larger --max-value-bytes, or send less.");
        if (tooLong || request.expectsContinue && !request.chunkedBody) {
            // The first would send for too long; the second has not sent its body and may send it or not.
            request.keepAlive = false;
            body = null;
        } else {
            body = unwanted;
            bodyUnwanted = true;
        }
        dispatch();
    }

    private void reserveOrWait() throws IOException {
        int bodyBytes = body instanceof ChunkedBody chunks ? chunks.wantedBytes() : (int) receiving.contentLength;
        wantedIn = rooms.of(bodyBytes);
        // A body in chunks is copied while it grows.
        wantedBytes = HeapFootprint.ofArray(bodyBytes) * (receiving.chunkedBody ? 2 : 1);
        if (!wantedIn.reserve(this)) {
            waitForMemory();
            return;
        }
        try {
            useReservedRoom();
        } catch (OutOfMemoryError e) {
            waitForMemory();
            BodyMemory.retryLater(this);
        }
    }

    private void waitForMemory() {
        waitsForMemory = true;
        listen(0);
    }

    private void useReservedRoom() throws IOException {
        if (body instanceof ChunkedBody chunks) {
            chunks.grantRoom();
        } else {
            body = new FixedBody((int) receiving.contentLength);
            askForBody();
        }
        giveBackMemory();
        reservedIn = wantedIn;
        reservedBytes = wantedBytes;
    }

    @Override
    public long neededBytes() {
        return wantedBytes;
    }

    @Override
    public synchronized void roomReserved() {
        if (!waitsForMemory) {
            // Closed in the meantime, before it could leave the queue.
            wantedIn.release(wantedBytes);
            return;
        }
        try {
            useReservedRoom();
            waitsForMemory = false;
            resume();
        } catch (OutOfMemoryError e) {
            // The heap has room for it but not right now, or not in one piece. The client waits a little longer.
            BodyMemory.retryLater(this);
        } catch (IOException | RuntimeException e) {
            handleException(e);
        }
    }

    private void dispatch() throws IOException {
        ReceivedRequest request = receiving;
        receiving = null;
        headBytes = 0;
        handling = request;
        begin(request);
    }

    /**
     * The request has a response and is not used any more: the next one is received.
     *
     * @param late whether this thread only responds, so that it must not handle the next one
     */
    final void requestDone(boolean late) throws IOException {
        handling = null;
        giveBackMemory();
        if (late) {
            resumeOnSelector();
        } else {
            resume();
        }
    }

    private void giveBackMemory() {
        if (reservedBytes > 0) {
            long bytes = reservedBytes;
            reservedBytes = 0;
            reservedIn.release(bytes);
        }
    }

    /** Ends the connection when the responses are sent and a body that is not wanted has been read. */
    final void endAfterResponse() {
        if (body != null) {
            endAfterBody = true;
        } else {
            scheduleClose();
        }
    }

    /** A connection that waits for us is not idle, and those of other nodes stay open for their next request. */
    @Override
    public int checkStatus(long currentTime, long keepAlive) {
        return waitsForMemory || handling != null && queueHead == null || fromNode && receiving == null ? Session.ACTIVE : super.checkStatus(currentTime, keepAlive);
    }

    @Override
    public synchronized void close() {
        super.close();
        if (handling == null) {
            // Otherwise whoever handles the request still has its body, and gives the memory back when it is done.
            giveBackMemory();
        }
        if (waitsForMemory) {
            waitsForMemory = false;
            // If it is no longer in the queue, the room reserved for it is given back when it is notified.
            wantedIn.cancel(this);
        }
        body = null;
    }
}
