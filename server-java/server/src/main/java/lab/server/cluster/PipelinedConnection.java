package lab.server.cluster;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import lab.server.api.ClusterSecret;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection of {@link PipelinedTransport} to one node. Opened when there is a call, and again after it broke. Only
 * {@link #submit} may be called by any thread; all else belongs to the thread of the transport.
 *
 * <p>A call whose connection broke before the response is sent once more over a new one: the node may have been started
 * again since. A call without a response in time fails alone: that may still come and is thrown away, since the calls
 * behind it get theirs after it. A connection on which a call is overdue twice the time-out is given up.
 */
final class PipelinedConnection {

    private static final Logger LOG = LoggerFactory.getLogger(PipelinedConnection.class);
    private static final int OUT_BYTES = 64 * 1024;

    private final String url;
    private final Selector selector;
    private final long timeoutNanos;
    private final int maxCalls;
    private final PipelinedHead head;
    /** Calls that ended only here count too: the room they take is what is bounded. */
    private final AtomicInteger calls = new AtomicInteger();
    private final Queue<PeerCall> submitted = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<PeerCall> sent = new ArrayDeque<>();
    private final byte[] out = new byte[OUT_BYTES];
    private final ByteBuffer outBuffer = ByteBuffer.wrap(out).limit(0);
    private final ResponseParser parser = new ResponseParser(this::received);
    /** A record too large for the buffer, sent after what is in it; or null. */
    private ByteBuffer large;
    private SocketChannel channel;
    private SelectionKey key;
    /** Calls at the head of {@link #sent} that have timed out. */
    private int overdue;
    /** Whether nothing is sent any more. */
    private boolean ended;

    PipelinedConnection(String url, Selector selector, long timeoutNanos, int maxCalls, ClusterSecret secret) {
        this.url = url;
        this.selector = selector;
        this.timeoutNanos = timeoutNanos;
        this.maxCalls = maxCalls;
        this.head = new PipelinedHead(url, secret);
    }

    /** Takes a call, to be sent soon; false if there is no room for it. */
    boolean submit(PeerCall call) {
        if (calls.incrementAndGet() > maxCalls) {
            calls.decrementAndGet();
            return false;
        }
        submitted.add(call);
        return true;
    }

    /** Whether there are calls that can be sent now. */
    boolean hasSubmitted() {
        return !submitted.isEmpty() && (channel == null || channel.isConnected() && !outBuffer.hasRemaining());
    }

    /** Sends what was submitted, as far as the connection takes it. */
    void send() {
        try {
            if (channel == null) {
                if (submitted.isEmpty()) {
                    return;
                }
                open();
            }
            if (channel.isConnected()) {
                do {
                    if (!outBuffer.hasRemaining() && large == null) {
                        encode();
                    }
                } while (write() && !submitted.isEmpty());
            }
        } catch (IOException e) {
            broken(e, PeerFailure.of(e));
        }
    }

    private void open() throws IOException {
        channel = SocketChannel.open();
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        boolean connected = channel.connect(new InetSocketAddress(Topology.host(url), Topology.port(url)));
        key = channel.register(selector, connected ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT, this);
    }

    /** Puts submitted calls into the buffer, as many as fit. */
    private void encode() {
        int at = 0;
        for (PeerCall call = submitted.peek(); call != null; call = submitted.peek()) {
            int headBytes = head.maxBytes(call);
            int recordBytes = call.record() == null ? 0 : call.record().length;
            if (headBytes > OUT_BYTES) {
                submitted.remove();
                calls.decrementAndGet();
                call.fail(PeerFailure.OVERLOADED);
                continue;
            }
            if (at + headBytes > OUT_BYTES || at > 0 && at + headBytes + recordBytes > OUT_BYTES) {
                break;
            }
            submitted.remove();
            if (call.get()) {
                calls.decrementAndGet();
                continue;
            }
            sent.add(call);
            at = head.put(call, out, at);
            if (at + recordBytes > OUT_BYTES) {
                large = ByteBuffer.wrap(call.record());
                break;
            }
            if (recordBytes > 0) {
                at = PeerRequest.put(call.record(), out, at);
            }
        }
        outBuffer.clear().limit(at);
    }

    /** Writes what is encoded; false if the connection took only a part. */
    private boolean write() throws IOException {
        if (outBuffer.hasRemaining()) {
            channel.write(outBuffer);
        }
        if (!outBuffer.hasRemaining() && large != null) {
            channel.write(large);
            large = large.hasRemaining() ? large : null;
        }
        boolean all = !outBuffer.hasRemaining() && large == null;
        int interest = all ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE;
        if (key.interestOps() != interest) {
            key.interestOps(interest);
        }
        return all;
    }

    /** Goes on when the selector says that the connection can. */
    void ready() {
        try {
            if (key.isConnectable()) {
                channel.finishConnect();
                key.interestOps(SelectionKey.OP_READ);
                send();
                return;
            }
            if (key.isReadable()) {
                if (parser.readFrom(channel) < 0) {
                    throw new EOFException(url + " closed the connection");
                }
            }
            if (key.isValid() && key.isWritable()) {
                write();
            }
        } catch (IOException e) {
            broken(e, PeerFailure.of(e));
        }
    }

    private void received(int status, byte[] body) throws IOException {
        PeerCall call = sent.poll();
        if (call == null) {
            throw new IOException(url + " sent a response that nobody asked for");
        }
        calls.decrementAndGet();
        overdue = Math.max(0, overdue - 1);
        call.end(status, body);
    }

    /** Fails the calls that have waited too long, after it has taken what has arrived for them. */
    void expire(long now) {
        if (isOverdue(sent.peek(), now, 1) || isOverdue(submitted.peek(), now, 1)) {
            takeArrived();
        }
        // A call that waited for its turn here says nothing about the other node.
        PeerFailure late = channel != null && !channel.isConnected() ? PeerFailure.TIMED_OUT : PeerFailure.OVERLOADED;
        for (PeerCall call = submitted.peek(); isOverdue(call, now, 1); call = submitted.peek()) {
            submitted.remove();
            calls.decrementAndGet();
            call.fail(late);
        }
        if (channel != null && !channel.isConnected() && submitted.isEmpty()) {
            broken(new IOException(url + " did not accept the connection in time"), PeerFailure.TIMED_OUT);
        }
        int at = 0;
        for (PeerCall call : sent) {
            if (at == 0 && isOverdue(call, now, 2)) {
                broken(new IOException(url + " does not respond"), PeerFailure.TIMED_OUT);
                return;
            }
            if (at++ >= overdue) {
                if (!isOverdue(call, now, 1)) {
                    break;
                }
                overdue++;
                call.fail(PeerFailure.TIMED_OUT);
            }
        }
    }

    /** Reads all that lies in the socket: if this thread was held up, the other node is not to blame. */
    private void takeArrived() {
        if (channel == null) {
            return;
        }
        try {
            if (!channel.isConnected()) {
                if (!channel.finishConnect()) {
                    return;
                }
                key.interestOps(SelectionKey.OP_READ);
            }
            int bytes = parser.readFrom(channel);
            while (bytes > 0) {
                bytes = parser.readFrom(channel);
            }
            if (bytes < 0) {
                throw new EOFException(url + " closed the connection");
            }
        } catch (IOException e) {
            broken(e, PeerFailure.of(e));
        }
    }

    private boolean isOverdue(PeerCall call, long now, int times) {
        return call != null && now - call.startNanos() >= times * timeoutNanos;
    }

    /** How long the thread may sleep without missing a time-out. */
    long nanosToDeadline(long now) {
        PeerCall first = sent.isEmpty() ? submitted.peek() : sent.peek();
        if (first == null) {
            return Long.MAX_VALUE;
        }
        // While the head is overdue others behind it may become so at any time; half a time-out would notice them late.
        long left = first.startNanos() + timeoutNanos - now;
        return left > 0 ? left : timeoutNanos / 16;
    }

    private void broken(IOException cause, PeerFailure failure) {
        LOG.debug("The connection to {} ends", url, cause);
        boolean anew = failure == PeerFailure.UNREACHABLE && channel != null && channel.isConnected() && !ended;
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            LOG.debug("It did not close cleanly", e);
        }
        channel = null;
        key = null;
        large = null;
        outBuffer.limit(0);
        overdue = 0;
        parser.reset();
        if (anew) {
            // What waits already is sent over the next connection for the first time, behind what is sent again.
            int waiting = submitted.size();
            for (int left = sent.size(); left > 0; left--) {
                PeerCall call = sent.poll();
                if (call.takeSecondTry()) {
                    submitted.add(call);
                } else {
                    calls.decrementAndGet();
                    call.fail(failure);
                }
            }
            for (; waiting > 0; waiting--) {
                submitted.add(submitted.poll());
            }
        } else {
            fail(sent, failure);
            fail(submitted, failure);
        }
    }

    private void fail(Queue<PeerCall> queue, PeerFailure failure) {
        // A call that fails may lead to another one on this very queue: only those that are there now are meant.
        for (int left = queue.size(); left > 0; left--) {
            PeerCall call = queue.poll();
            calls.decrementAndGet();
            call.fail(failure);
        }
    }

    /** Closes the connection; its calls fail. */
    void end() {
        ended = true;
        broken(new IOException("this node stops"), PeerFailure.UNREACHABLE);
    }
}
