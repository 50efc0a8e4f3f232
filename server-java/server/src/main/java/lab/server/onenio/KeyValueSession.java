package lab.server.onenio;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicReference;
import lab.server.api.Exchange;
import lab.server.execution.Dispatcher;
import lab.server.execution.Job;
import one.nio.net.Session;
import one.nio.net.Socket;

/**
 * One connection, and on which thread its request is handled and answered: there is one at a time, so a request costs no
 * objects beside its own bytes, and waits in a queue as the session itself.
 *
 * <p>A request is done when it was answered and its handler has returned, in whichever order; until then the session is
 * not used for the next one.
 *
 * <p>{@link PublishedSession} answers in another way, to show what that costs; it is loaded only where it is asked for.
 */
class KeyValueSession extends ExchangeSession implements Job {

    private final KeyValueServer owner;
    private final Dispatcher dispatcher;
    /** Where a pool leaves an answer for the selector that waits for it with the monitor held; null in other modes. */
    private final AtomicReference<Object> handover;
    private volatile boolean answered;
    private boolean handlerReturned;
    private boolean abandoned;
    private long waitsSinceNanos;

    /** What {@link #handover} holds while the selector waits, and when it has stopped to. */
    private enum Selector { WAITS, GONE }

    KeyValueSession(Socket socket, KeyValueServer owner, Limits limits, BodyMemory bodyMemory, Dispatcher dispatcher) {
        super(socket, owner, limits, bodyMemory);
        this.owner = owner;
        this.dispatcher = dispatcher;
        this.handover = dispatcher.execution().callerWaits() ? new AtomicReference<>(Selector.GONE) : null;
    }

    @Override
    void begin(ReceivedRequest request) throws IOException {
        answered = false;
        handlerReturned = false;
        if (request.rejection != null) {
            respond(request.rejection, request.rejectionText);
            handlerReturned();
        } else if (handover == null) {
            dispatcher.dispatch(this);
        } else {
            handover.set(Selector.WAITS);
            try {
                dispatcher.dispatch(this);
            } finally {
                if (handover.getAndSet(Selector.GONE) instanceof Session.QueueItem answer) {
                    send(answer);
                }
            }
        }
    }

    /** Handles the request unless its connection was closed while it waited. */
    @Override
    public void handle() {
        if (socket.isOpen()) {
            work(dispatcher::serve);
        } else {
            abandoned = true;
            handlerReturned();
        }
    }

    @Override
    public void refuse() {
        work(dispatcher::answerRefused);
    }

    @Override
    public void expire() {
        work(dispatcher::answerExpired);
    }

    private interface Work {
        void on(Exchange exchange) throws IOException;
    }

    private void work(Work work) {
        try {
            work.on(this);
        } catch (IOException e) {
            // The connection is broken, which was said and done where it broke.
        } finally {
            handlerReturned();
        }
    }

    private void handlerReturned() {
        if (handover != null && handover.get() != Selector.GONE) {
            // The selector has the monitor; it is told by the end of the wait.
            handlerReturned = true;
            return;
        }
        synchronized (this) {
            handlerReturned = true;
            doneIfAnswered();
        }
    }

    private void doneIfAnswered() {
        if (handlerReturned && (answered || abandoned) && handling != null) {
            try {
                requestDone();
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
    public boolean isAnswered() {
        return answered;
    }

    @Override
    public void respondValue(MemorySegment value) throws IOException {
        boolean keepAlive = current().keepAlive;
        int length = (int) value.byteSize();
        int bytes = Heads.okBytes(length, keepAlive) + length;
        if (handover == null) {
            synchronized (this) {
                if (bytes <= spareBytes()) {
                    byte[] spare = spareBuffer();
                    int from = spareStart();
                    putValue(spare, from, value, length, keepAlive);
                    deliver(spare, from, bytes, true);
                    return;
                }
            }
        }
        byte[] answer = new byte[bytes];
        putValue(answer, 0, value, length, keepAlive);
        deliver(answer);
    }

    private static void putValue(byte[] target, int from, MemorySegment value, int length, boolean keepAlive) {
        int at = Heads.putOk(target, from, length, keepAlive);
        MemorySegment.copy(value, ValueLayout.JAVA_BYTE, 0, target, at, length);
    }

    @Override
    public void abort(Exception cause) {
        synchronized (this) {
            handleException(cause);
            answered = true;
            doneIfAnswered();
        }
    }

    @Override
    final void deliver(byte[] bytes) throws IOException {
        if (handover != null) {
            deliverItem(new ArrayQueueItem(bytes, 0, bytes.length, 0));
            return;
        }
        synchronized (this) {
            deliver(bytes, 0, bytes.length, false);
        }
    }

    /** Needs the monitor. */
    private void deliver(byte[] bytes, int from, int length, boolean borrowed) throws IOException {
        answered = true;
        boolean keepAlive = ((ReceivedRequest) handling).keepAlive;
        try {
            sendOrHold(bytes, from, length, borrowed);
        } catch (IOException e) {
            failed(e);
        }
        sent(keepAlive);
    }

    private void failed(IOException e) throws IOException {
        handleException(e);
        doneIfAnswered();
        throw e;
    }

    @Override
    final void deliver(StreamItem answer) throws IOException {
        deliverItem(answer);
    }

    /** Leaves the answer to the selector if it waits for it, else sends it. */
    private void deliverItem(QueueItem answer) throws IOException {
        if (handover != null) {
            answered = true;
            if (handover.compareAndSet(Selector.WAITS, answer)) {
                return;
            }
        }
        synchronized (this) {
            answered = true;
            send(answer);
        }
    }

    /** Writes as much of an answer as the socket takes; the selector writes the rest. */
    private void send(QueueItem answer) throws IOException {
        boolean keepAlive = ((ReceivedRequest) handling).keepAlive;
        try {
            flushAnswers();
            write(answer);
        } catch (IOException e) {
            failed(e);
        }
        sent(keepAlive);
    }

    private void sent(boolean keepAlive) throws IOException {
        owner.incRequestsProcessed();
        if (!keepAlive) {
            flushAnswers();
            endAfterAnswer();
        }
        doneIfAnswered();
    }
}
