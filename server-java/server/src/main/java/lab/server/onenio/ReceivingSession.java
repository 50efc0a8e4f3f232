package lab.server.onenio;

import java.io.IOException;
import lab.server.api.BodyMemory;
import lab.server.http.FixedBody;
import lab.server.http.HeadParser;
import lab.server.http.Heads;
import lab.server.http.IncomingBody;
import lab.server.http.Limits;
import lab.server.http.ReceivedRequest;
import one.nio.http.HttpServer;
import one.nio.net.Session;
import one.nio.net.Socket;

/**
 * The receiving half of a connection: makes requests of bytes, one at a time. Takes the place of one-nio's, which closes
 * the connection on a body over 64 KiB and on a line over 2 KiB that comes in two pieces, and which takes a chunked body
 * for the next request.
 */
abstract class ReceivingSession extends PacedSession implements BodyMemory.Waiter {

    private final Limits limits;
    private final BodyMemory.Rooms rooms;
    private final HeadParser head;

    /** The request whose head was read and whose body was not; or null. */
    private ReceivedRequest receiving;
    /** The request that is being handled, or null. */
    private ReceivedRequest request;
    /** When the head that is being read began, in milliseconds, or 0 if none is. */
    private volatile long headSinceMs;
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
        this.head = new HeadParser(limits);
    }

    /** Handles a request that was received whole. When it is done, {@link #requestDone} is called. */
    abstract void begin(ReceivedRequest received) throws IOException;

    /** The request that is being handled. */
    public final ReceivedRequest request() {
        return request;
    }

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
        int next = head.take(buffer, at, length, bufferBytes());
        followed = next < length;
        headRead();
        return next;
    }

    @Override
    final void received() {
        boolean begun = handling == null && receiving == null && body == null && (head.isBegun() || hasRest());
        if (!begun && headSinceMs != 0) {
            headSinceMs = 0;
        } else if (begun && headSinceMs == 0) {
            headSinceMs = System.currentTimeMillis();
        }
    }

    /** Refuses a head that takes longer than the limit. */
    final void endSlowHead(long nowMs) {
        if (isSlow(nowMs)) {
            synchronized (this) {
                if (isSlow(nowMs) && handling == null && !closing && socket.isOpen()) {
                    try {
                        head.refuseTime();
                        headRead();
                    } catch (IOException e) {
                        handleException(e);
                    }
                }
            }
        }
    }

    private boolean isSlow(long nowMs) {
        long sinceMs = headSinceMs;
        return sinceMs != 0 && nowMs - sinceMs >= limits.headMs();
    }

    private void headRead() throws IOException {
        ReceivedRequest read = head.poll();
        if (read == null) {
            return;
        }
        if (headSinceMs != 0) {
            headSinceMs = 0;
        }
        receiving = read;
        fromNode = read.isInternal();
        body = IncomingBody.of(read, limits);
        bodyUnwanted = body != null && read.rejection() != null;
        if (body == null || bodyUnwanted) {
            dispatch();
        } else if (body.needsRoom()) {
            reserveOrWait();
        } else {
            askForBody();
        }
    }

    private void askForBody() throws IOException {
        if (receiving.expectsContinue()) {
            flushResponses();
            write(Heads.CONTINUE, 0, Heads.CONTINUE.length);
        }
    }

    private void afterBodyBytes() throws IOException {
        if (body.isComplete()) {
            IncomingBody received = body;
            body = null;
            if (!bodyUnwanted) {
                receiving.receiveBody(received.bytes());
                dispatch();
            } else if (endAfterBody) {
                scheduleClose();
            }
        } else if (body.isMalformed() && bodyUnwanted) {
            // It has a response already.
            scheduleClose();
        } else if (body.isMalformed()) {
            body = null;
            receiving.rejectChunks();
            dispatch();
        } else if (body.isTooLarge()) {
            body.skipRest();
            giveBackMemory();
            bodyUnwanted = true;
            receiving.rejectBody(limits);
            dispatch();
        } else if (body.needsRoom()) {
            reserveOrWait();
        }
    }

    private void reserveOrWait() throws IOException {
        wantedIn = rooms.of(body.wantedBytes());
        wantedBytes = body.wantedHeapBytes();
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
        body.grantRoom();
        if (body instanceof FixedBody) {
            // Its client does not know yet that it may send.
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
        request = receiving;
        receiving = null;
        // One-nio must know that a request is being handled, not which.
        handling = FIN;
        begin(request);
    }

    /**
     * The request has a response and is not used any more: the next one is received.
     *
     * @param late whether this thread only responds, so that it must not handle the next one
     */
    final void requestDone(boolean late) throws IOException {
        handling = null;
        request = null;
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
    public int checkStatus(long nowMs, long keepAliveMs) {
        boolean waitsForResponse = handling != null && queueHead == null;
        boolean isOfNode = fromNode && isBetweenRequests();
        return waitsForMemory || waitsForResponse || isOfNode ? Session.ACTIVE : super.checkStatus(nowMs, keepAliveMs);
    }

    private boolean isBetweenRequests() {
        return receiving == null && !head.isBegun();
    }

    /** Whether it can be closed without harm to anybody but a client that does nothing. */
    final boolean isIdle() {
        return isBetweenRequests() && !hasRest() && handling == null && body == null && queueHead == null && !fromNode;
    }

    /** Closes it if it is idle still. */
    final synchronized boolean closeIfIdle() {
        boolean idle = isIdle() && socket.isOpen();
        if (idle) {
            close();
        }
        return idle;
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
