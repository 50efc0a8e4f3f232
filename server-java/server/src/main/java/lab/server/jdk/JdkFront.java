package lab.server.jdk;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;
import lab.server.api.BodyMemory;
import lab.server.api.ClusterSecret;
import lab.server.api.Front;
import lab.server.execution.Dispatcher;

/**
 * The key-value API over {@code com.sun.net.httpserver}.
 *
 * <p>That server has one thread that waits for connections, and reads each request with blocking reads. Where requests
 * are handled on the thread that reads them, this is that one thread, so a client that sends slowly holds all others up:
 * that is how report 2 had it, and nobody should. With a pool or with virtual threads, each request is read on a virtual
 * thread of its own before it is handed over.
 */
public final class JdkFront implements Front {

    /** Above so many idle connections the JDK closes each after its response; its default is 200. */
    private static final String MAX_IDLE_PROPERTY = "sun.net.httpserver.maxIdleConnections";
    private static final String MAX_IDLE = "20000";
    /** Further connections are closed at once. */
    private static final String MAX_CONNECTIONS_PROPERTY = "jdk.httpserver.maxConnections";
    /** Seconds that a client may take to send a request; without it, those that stop half-way stay for ever. */
    private static final String MAX_REQUEST_PROPERTY = "sun.net.httpserver.maxReqTime";
    private static final String MAX_REQUEST_S = "120";
    /** Whether the second write of a response waits for the acknowledgement of the first; the default is the JDK's. */
    private static final String NODELAY_PROPERTY = "sun.net.httpserver.nodelay";

    private final HttpServer server;
    private final ExecutorService readers;
    private final LongAdder responses = new LongAdder();

    /** The JDK reads these once in a process; what its user has set is left as it is. */
    private static void setUnlessSet(String property, String value) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, value);
        }
    }

    /**
     * Binds the port.
     *
     * @param address      where to listen
     * @param backlog      connections that may wait to be accepted
     * @param connections  further ones are closed at once; 0 for no limit
     * @param maxBodyBytes larger bodies are refused with 413
     * @param dispatcher   what serves the requests
     * @param secret       proves that another node sent a request; null if there is none
     * @throws IOException if the port cannot be bound
     */
    public JdkFront(InetSocketAddress address, int backlog, int connections, int maxBodyBytes, Dispatcher dispatcher,
            ClusterSecret secret) throws IOException {
        setUnlessSet(MAX_IDLE_PROPERTY, MAX_IDLE);
        setUnlessSet(MAX_CONNECTIONS_PROPERTY, Integer.toString(connections));
        setUnlessSet(MAX_REQUEST_PROPERTY, MAX_REQUEST_S);
        BodyMemory.Rooms rooms = BodyMemory.Rooms.ofHeap();
        server = HttpServer.create(address, backlog);
        server.createContext("/", exchange -> JdkExchange.begin(exchange, maxBodyBytes, rooms, dispatcher,
                secret, responses));
        boolean onDispatcher = dispatcher.execution().onCaller() || dispatcher.execution().callerWaits();
        readers = onDispatcher ? null : Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("reader").factory());
        server.setExecutor(readers);
    }

    @Override
    public void start() {
        server.start();
    }

    @Override
    public long responses() {
        return responses.sum();
    }

    /** The JDK does not tell. */
    @Override
    public int connections() {
        return UNKNOWN_CONNECTIONS;
    }

    @Override
    public Map<String, Object> facts() {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("transport", "jdk.httpserver");
        facts.put("nodelay", System.getProperty(NODELAY_PROPERTY, "default"));
        return facts;
    }

    @Override
    public void close() {
        server.stop(0);
        if (readers != null) {
            readers.shutdown();
        }
    }
}
