package lab.server.jdk;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.Arrays;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import lab.server.api.BodyMemory;
import lab.server.api.Status;
import lab.server.http.BodyPieces;
import lab.server.http.FixedBody;
import lab.server.http.HeadParser;
import lab.server.http.Heads;
import lab.server.http.IncomingBody;
import lab.server.http.Limits;
import lab.server.http.ReceivedRequest;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection: a thread that reads a request, has it handled, sends the response, and goes on to the next. */
final class JdkConnection implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(JdkConnection.class);
    /** Small, for of idle connections there may be many. */
    private static final int FIRST_BYTES = 1024;

    private final JdkFront front;
    private final Limits limits;
    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private final HeadParser head;
    /** What was received and not used yet is in there from {@link #at} to {@link #end}. */
    private byte[] buffer = new byte[FIRST_BYTES];
    private int at;
    private int end;
    private boolean fromNode;
    private volatile long idleSinceNanos = System.nanoTime();
    private volatile boolean idle = true;
    private volatile JdkExchange exchange;

    JdkConnection(JdkFront front, Limits limits, Socket socket) throws IOException {
        this.front = front;
        this.limits = limits;
        this.socket = socket;
        in = socket.getInputStream();
        out = socket.getOutputStream();
        head = new HeadParser(limits);
    }

    /** Whether it can be closed without harm to anybody but a client that does nothing. */
    boolean isIdle() {
        return idle;
    }

    /** When it became idle, by {@link System#nanoTime()}. */
    long idleSinceNanos() {
        return idleSinceNanos;
    }

    @Override
    public void run() {
        try (socket) {
            ReceivedRequest request = receiveHead();
            while (request != null && serve(request)) {
                request = receiveHead();
            }
        } catch (IOException | CompletionException e) {
            // The connection is broken, or a response had to be left out, which was said where it happened.
            LOG.debug("A connection has ended", e);
        } catch (RuntimeException | Error e) {
            LOG.error("A connection failed", e);
        } finally {
            front.ended(this);
        }
    }

    /** Reads a head; null if the client has nothing more to ask. */
    private ReceivedRequest receiveHead() throws IOException {
        boolean began = false;
        long beganNanos = System.nanoTime();
        idleSinceNanos = beganNanos;
        idle = at == end && !fromNode;
        while (true) {
            while (at < end) {
                int next = head.take(buffer, at, end, Integer.MAX_VALUE);
                if (next < 0) {
                    break;
                }
                at = next;
                ReceivedRequest request = head.poll();
                if (request != null) {
                    idle = false;
                    fromNode = request.isInternal();
                    return request;
                }
            }
            if (!began && (head.isBegun() || at < end)) {
                began = true;
                beganNanos = System.nanoTime();
                idle = false;
            }
            long leftMs = limits.headMs() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNanos);
            boolean limited = began && limits.headMs() > 0 && (limits.idleMs() == 0 || leftMs < limits.idleMs());
            try {
                if (limited && leftMs <= 0) {
                    throw new SocketTimeoutException();
                }
                int timeoutMs = limited ? (int) leftMs : fromNode && !began ? 0 : limits.idleMs();
                if (!fill(timeoutMs, began ? buffer.length : FIRST_BYTES)) {
                    return null;
                }
            } catch (SocketTimeoutException e) {
                if (!limited) {
                    return null;
                }
                head.refuseTime();
                return head.poll();
            }
        }
    }

    /**
     * Reads what there is.
     *
     * @param timeoutMs how long it may take until something comes; 0 for as long as it will
     * @param roomBytes length of the buffer if nothing is left in it
     * @return false at the end
     */
    private boolean fill(int timeoutMs, int roomBytes) throws IOException {
        if (at == end) {
            buffer = buffer.length == roomBytes ? buffer : new byte[roomBytes];
        } else if (end - at == buffer.length) {
            buffer = Arrays.copyOf(buffer, 2 * buffer.length);
        } else {
            System.arraycopy(buffer, at, buffer, 0, end - at);
        }
        end -= at;
        at = 0;
        socket.setSoTimeout(timeoutMs);
        int bytes = in.read(buffer, end, buffer.length - end);
        end += Math.max(bytes, 0);
        return bytes >= 0;
    }

    /** Has a request handled and sends the response; gives whether another request may follow. */
    private boolean serve(ReceivedRequest request) throws IOException {
        try (BodyRoom room = new BodyRoom(front.rooms())) {
            IncomingBody unwanted = null;
            try {
                unwanted = request.rejection() == null ? receiveBody(request, room) : null;
            } catch (OutOfMemoryError e) {
                LOG.error("{} {} found no memory for its body", request.method(), request.target(), e);
                request.reject(Status.UNAVAILABLE, "There is no memory for the body at this moment. Come again later.");
                request.endConnection();
            }
            JdkExchange handled = new JdkExchange(request, front.dispatcher());
            exchange = handled;
            try {
                send(handled.awaitResponse());
            } finally {
                exchange = null;
                handled.sent();
            }
            if (unwanted != null) {
                receive(unwanted);
            }
            return request.keepAlive() && (unwanted == null || unwanted.isComplete());
        }
    }

    /** Reads the body; if that is refused, gives what is left of it, to be read after the response; else null. */
    private IncomingBody receiveBody(ReceivedRequest request, BodyRoom room) throws IOException {
        IncomingBody body = IncomingBody.of(request, limits);
        if (body == null || request.rejection() != null) {
            return body;
        }
        boolean asks = request.expectsContinue();
        while (!body.isComplete()) {
            if (body.isMalformed()) {
                request.rejectChunks();
                return null;
            } else if (body.isTooLarge()) {
                body.skipRest();
                room.close();
                request.rejectBody(limits);
                return body;
            } else if (body.needsRoom()) {
                room.reserve(body);
                body.grantRoom();
            }
            if (asks) {
                out.write(Heads.CONTINUE);
                asks = false;
            }
            receive(body);
        }
        request.receiveBody(body.bytes());
        return null;
    }

    /** Reads a body as far as it takes bytes. */
    private void receive(IncomingBody body) throws IOException {
        while (!body.isComplete() && !body.isMalformed() && !body.isTooLarge() && !body.needsRoom()) {
            if (at < end) {
                at = body.take(buffer, at, end);
            } else if (body instanceof FixedBody fixed) {
                socket.setSoTimeout(limits.idleMs());
                fixed.readFrom(in);
            } else if (!fill(limits.idleMs(), BodyMemory.UNCOUNTED_BYTES)) {
                throw new EOFException("The client has sent less than it announced.");
            }
        }
    }

    private void send(Object response) throws IOException {
        if (response instanceof BodyPieces pieces) {
            try (pieces) {
                out.write(pieces.buffer(), 0, pieces.length());
                while (!pieces.isEnded()) {
                    pieces.refill();
                    out.write(pieces.buffer(), 0, pieces.length());
                }
            }
        } else {
            out.write((byte[]) response);
        }
        front.responded();
    }

    /** Ends it, and the wait for a response. */
    void close() {
        try {
            socket.close();
        } catch (IOException e) {
            LOG.debug("A connection did not close", e);
        }
        JdkExchange waiting = exchange;
        if (waiting != null) {
            waiting.abort(new EOFException("The server has stopped."));
        }
    }
}
