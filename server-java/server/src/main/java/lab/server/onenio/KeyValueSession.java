package lab.server.onenio;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReference;
import lab.server.api.Body;
import lab.server.api.BodyMemory;
import lab.server.execution.Dispatcher;
import lab.server.http.BodyPieces;
import lab.server.http.Heads;
import lab.server.http.Limits;
import lab.server.http.ReceivedRequest;
import lab.server.http.WireExchange;
import one.nio.net.Session;
import one.nio.net.Socket;

/**
 * One connection, and on which thread its request is handled and gets its response: there is one at a time, so a request
 * costs no objects but its own bytes, and waits in a queue as the session itself. Responses are written as bytes: one-nio's
 * {@link one.nio.http.Response} builds a list of texts first, and changes the object that it is given.
 *
 * <p>A request is done when it has a response and its handler has returned, in whichever order; until then the session is
 * not used for the next one.
 *
 * <p>{@link PublishedSession} responds in another way, to show what that costs; it is loaded only where it is asked for.
 */
class KeyValueSession extends SendingSession implements WireExchange {

    private final KeyValueServer owner;
    private final Dispatcher dispatcher;
    /**
     * Where another thread leaves a response, or why there is none, for the selector that has the monitor while it waits
     * for a pool or handles the request itself; null if it does neither. So who responds never waits for a handler.
     */
    private final AtomicReference<Object> handover;
    /** The thread that has the monitor and handles the request itself, or did so last. */
    private Thread handler;
    private volatile boolean responded;
    /** Whether the response was sent or queued. Needs the monitor. */
    private boolean sent;
    private boolean handlerReturned;
    private boolean abandoned;
    private long waitsSinceNanos;

    /** What {@link #handover} holds while the selector has the monitor, and when it has not. */
    private enum Selector { BUSY, GONE }

    KeyValueSession(Socket socket, KeyValueServer owner, Limits limits, BodyMemory.Rooms rooms, Dispatcher dispatcher) {
        super(socket, owner, limits, rooms);
        this.owner = owner;
        this.dispatcher = dispatcher;
        this.handover = dispatcher.execution().callerWaits() || dispatcher.execution().onCaller()
                ? new AtomicReference<>(Selector.GONE) : null;
    }

    @Override
    void begin(ReceivedRequest received) throws IOException {
        responded = false;
        sent = false;
        handlerReturned = false;
        if (received.rejection() != null) {
            respond(received.rejection(), received.rejectionText());
            handlerReturned();
        } else if (handover == null) {
            dispatcher.dispatch(this);
        } else {
            handler = dispatcher.execution().onCaller() ? Thread.currentThread() : null;
            handover.set(Selector.BUSY);
            try {
                dispatcher.dispatch(this);
            } finally {
                switch (handover.getAndSet(Selector.GONE)) {
                    case Session.QueueItem response when !sent -> send(response);
                    case Throwable failure -> abort(failure);
                    default -> {
                        // Sent by the handler already, or later by another thread.
                    }
                }
            }
        }
    }

    /** Handles the request unless its connection was closed while it waited. */
    @Override
    public void handle() {
        if (socket.isOpen()) {
            WireExchange.super.handle();
        } else {
            abandoned = true;
            handlerReturned();
        }
    }

    @Override
    public final Dispatcher dispatcher() {
        return dispatcher;
    }

    @Override
    public final void perform(Work work) {
        try {
            work.on(this);
        } catch (IOException e) {
            // The connection is broken, which was said and done where it broke.
        } catch (RuntimeException | Error e) {
            // Nothing can be sent any more; the client must not wait for it.
            abort(e);
        } finally {
            handlerReturned();
        }
    }

    /** Whether a response of this thread must not wait for the monitor. */
    private boolean handsOver() {
        return handover != null && Thread.currentThread() != handler;
    }

    private void handlerReturned() {
        if (handsOver() && handover.get() != Selector.GONE) {
            // The selector has the monitor; it goes on when its wait ends.
            handlerReturned = true;
            return;
        }
        synchronized (this) {
            handlerReturned = true;
            doneIfSent(false);
        }
    }

    private void doneIfSent(boolean late) {
        if (handlerReturned && (sent || abandoned) && handling != null) {
            try {
                requestDone(late);
            } catch (IOException e) {
                handleException(e);
            }
        }
    }

    @Override
    public void waitsSince(long nanos) {
        waitsSinceNanos = nanos;
    }

    @Override
    public long waitsSince() {
        return waitsSinceNanos;
    }

    @Override
    public boolean hasResponse() {
        return responded;
    }

    @Override
    public void respondValue(MemorySegment value) throws IOException {
        ReceivedRequest request = pending();
        int bytes = Heads.okBytes(request, value);
        if (!handsOver()) {
            synchronized (this) {
                if (bytes <= spareBytes()) {
                    byte[] spare = spareBuffer();
                    int from = spareStart();
                    Heads.putOk(spare, from, request, value);
                    deliver(spare, from, bytes, true);
                    return;
                }
            }
        }
        WireExchange.super.respondValue(value);
    }

    @Override
    public void respondStream(Body body) throws IOException {
        if (hasResponse() || request().isHead()) {
            try (body) {
                deliver(Heads.ofStream(pending(), body));
            }
            return;
        }
        StreamItem response = new StreamItem(new BodyPieces(request(), body));
        if (body.waits()) {
            deliverPieces(response);
        } else {
            deliverItem(response);
        }
    }

    @Override
    public void abort(Throwable cause) {
        if (handsOver() && handover.compareAndSet(Selector.BUSY, cause)) {
            // The selector has the monitor.
            return;
        }
        synchronized (this) {
            try {
                handleException(cause);
            } finally {
                // Also if the failure is such that it cannot even be logged.
                close();
                responded = true;
                sent = true;
                doneIfSent(true);
            }
        }
    }

    @Override
    public final void deliver(byte[] bytes) throws IOException {
        if (handsOver()) {
            deliverItem(new ArrayQueueItem(bytes, 0, bytes.length, 0));
            return;
        }
        synchronized (this) {
            deliver(bytes, 0, bytes.length, false);
        }
    }

    /** Needs the monitor. */
    private void deliver(byte[] bytes, int from, int length, boolean borrowed) throws IOException {
        responded = true;
        sent = true;
        boolean keepAlive = request().keepAlive();
        try {
            sendOrHold(bytes, from, length, borrowed);
        } catch (IOException e) {
            failed(e);
        }
        sent(keepAlive);
    }

    private void failed(IOException e) throws IOException {
        handleException(e);
        doneIfSent(true);
        throw e;
    }

    /** Sends a response piece by piece, each read by this thread; returns when all are on their way. */
    private void deliverPieces(StreamItem response) throws IOException {
        try {
            while (!response.isEnded()) {
                StreamItem.Piece piece = response.piece();
                synchronized (this) {
                    flushResponses();
                    write(piece);
                }
                piece.awaitSent();
                response.refill();
            }
            deliverItem(response.piece());
        } finally {
            response.release();
        }
    }

    /** Leaves the response to the selector if that has the monitor, else sends it. */
    private void deliverItem(QueueItem response) throws IOException {
        if (handsOver()) {
            responded = true;
            if (handover.compareAndSet(Selector.BUSY, response)) {
                return;
            }
        }
        synchronized (this) {
            responded = true;
            send(response);
        }
    }

    /** Writes as much of a response as the socket takes; the selector writes the rest. */
    private void send(QueueItem response) throws IOException {
        sent = true;
        boolean keepAlive = request().keepAlive();
        try {
            flushResponses();
            write(response);
        } catch (IOException e) {
            failed(e);
        }
        sent(keepAlive);
    }

    private void sent(boolean keepAlive) throws IOException {
        owner.incRequestsProcessed();
        if (!keepAlive) {
            flushResponses();
            endAfterResponse();
        }
        doneIfSent(true);
    }
}
