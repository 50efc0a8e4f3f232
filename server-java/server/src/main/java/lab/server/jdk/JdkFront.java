package lab.server.jdk;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import lab.server.api.BodyMemory;
import lab.server.api.Front;
import lab.server.execution.Dispatcher;
import lab.server.http.Limits;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The key-value API over sockets of the JDK: a virtual thread for each connection reads and writes and waits for both.
 * (The JDK's own HTTP server, as report 2 had it, is a program of its own, {@code server-jdk17}.)
 */
public final class JdkFront implements Front {

    private static final Logger LOG = LoggerFactory.getLogger(JdkFront.class);
    private static final long RETRY_MS = 100;
    private static final int STOP_TIMEOUT_S = 10;

    private final ServerSocket server = new ServerSocket();
    private final Limits limits;
    private final Dispatcher dispatcher;
    private final BodyMemory.Rooms rooms = BodyMemory.Rooms.ofHeap();
    private final Set<JdkConnection> connections = ConcurrentHashMap.newKeySet();
    private final ExecutorService threads = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("connection").factory());
    private final Thread acceptor = Thread.ofPlatform().name("acceptor").unstarted(this::accept);
    private final LongAdder responses = new LongAdder();

    /**
     * Binds the port.
     *
     * @param address    where to listen
     * @param backlog    connections that may wait to be accepted
     * @param limits     what a connection may ask
     * @param dispatcher what serves the requests
     * @throws IOException if the port cannot be bound
     */
    public JdkFront(InetSocketAddress address, int backlog, Limits limits, Dispatcher dispatcher) throws IOException {
        this.limits = limits;
        this.dispatcher = dispatcher;
        try {
            server.bind(address, backlog);
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    @Override
    public void start() {
        acceptor.start();
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                begin(server.accept());
            } catch (IOException e) {
                if (!server.isClosed()) {
                    LOG.error("A connection cannot be accepted; trying again in {} ms", RETRY_MS, e);
                    pause();
                }
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(RETRY_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void begin(Socket socket) throws IOException {
        if (limits.connections() > 0 && connections.size() >= limits.connections() && !closeLongestIdle()) {
            socket.close();
            return;
        }
        socket.setTcpNoDelay(true);
        JdkConnection connection = new JdkConnection(this, limits, socket);
        connections.add(connection);
        threads.execute(connection);
    }

    /** Makes room for one who may have something to ask. */
    private boolean closeLongestIdle() {
        Optional<JdkConnection> longest = connections.stream().filter(JdkConnection::isIdle)
                .min(Comparator.comparingLong(JdkConnection::idleSinceNanos));
        longest.ifPresent(connection -> {
            connection.close();
            ended(connection);
        });
        return longest.isPresent();
    }

    void ended(JdkConnection connection) {
        connections.remove(connection);
    }

    void responded() {
        responses.increment();
    }

    BodyMemory.Rooms rooms() {
        return rooms;
    }

    Dispatcher dispatcher() {
        return dispatcher;
    }

    @Override
    public long responses() {
        return responses.sum();
    }

    @Override
    public int connections() {
        return connections.size();
    }

    @Override
    public Map<String, Object> facts() {
        return new LinkedHashMap<>(Map.of("transport", "jdk.sockets"));
    }

    @Override
    public void close() {
        try {
            server.close();
            acceptor.join(TimeUnit.SECONDS.toMillis(STOP_TIMEOUT_S));
            connections.forEach(JdkConnection::close);
            threads.shutdown();
            // They read the store.
            if (!threads.awaitTermination(STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
                LOG.warn("A connection did not end within {} s", STOP_TIMEOUT_S);
            }
        } catch (IOException e) {
            LOG.warn("The port did not close", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
