package lab.server.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import lab.server.api.ClusterSecret;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Our own client: one thread for all other nodes, one connection to each, and as many calls on it at once as there are.
 * Calls that come together leave in one write and their responses come in one read, so the busier a node is, the less a
 * call costs. HTTP/1.1 pipelining (RFC 9112, section 9.3.2): responses come in the order of the calls.
 */
final class PipelinedTransport implements PeerTransport, Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(PipelinedTransport.class);
    private static final int STOP_TIMEOUT_S = 10;

    /** The thread works, and looks at all connections again before it sleeps. */
    private static final int AWAKE = 0;
    /** The thread sleeps, or is about to, and must be woken. */
    private static final int ASLEEP = 1;

    private final Selector selector;
    private final List<PipelinedConnection> connections = new CopyOnWriteArrayList<>();
    private final AtomicInteger state = new AtomicInteger(AWAKE);
    private final long timeoutNanos;
    private final int maxCalls;
    private final ClusterSecret secret;
    private final Thread thread;
    private volatile boolean stopped;

    /**
     * @param maxCalls calls that may be under way to one node
     * @param secret   proves to the other nodes that a node calls
     */
    PipelinedTransport(int timeoutMs, int maxCalls, ClusterSecret secret) {
        this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        this.maxCalls = maxCalls;
        this.secret = secret;
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        thread = new Thread(this, "peer-calls");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public PeerClient to(String url) {
        PipelinedConnection connection = new PipelinedConnection(url, selector, timeoutNanos, maxCalls, secret);
        connections.add(connection);
        return call -> {
            if (stopped || !connection.submit(call)) {
                call.fail(PeerFailure.OVERLOADED);
            } else if (state.get() == ASLEEP && state.compareAndSet(ASLEEP, AWAKE)) {
                selector.wakeup();
            }
        };
    }

    @Override
    public void run() {
        try {
            while (!stopped) {
                long now = System.nanoTime();
                long wait = timeoutNanos;
                for (PipelinedConnection connection : connections) {
                    connection.expire(now);
                    connection.send();
                    wait = Math.min(wait, connection.nanosToDeadline(now));
                }
                sleep(wait);
            }
        } catch (IOException | RuntimeException | Error e) {
            LOG.error("Calls to other nodes fail from now on", e);
        } finally {
            stopped = true;
            connections.forEach(PipelinedConnection::end);
        }
    }

    private void sleep(long waitNanos) throws IOException {
        state.set(ASLEEP);
        boolean idle = !stopped && connections.stream().noneMatch(PipelinedConnection::hasSubmitted);
        if (idle) {
            selector.select(this::ready, TimeUnit.NANOSECONDS.toMillis(waitNanos) + 1);
        } else {
            selector.selectNow(this::ready);
        }
        state.set(AWAKE);
    }

    private void ready(SelectionKey key) {
        ((PipelinedConnection) key.attachment()).ready();
    }

    @Override
    public void close() {
        stopped = true;
        selector.wakeup();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(STOP_TIMEOUT_S));
            selector.close();
        } catch (IOException e) {
            LOG.debug("The selector did not close", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        connections.forEach(PipelinedConnection::end);
    }
}
