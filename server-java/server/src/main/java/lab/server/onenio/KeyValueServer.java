package lab.server.onenio;

import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import lab.server.api.AsPublished;
import lab.server.api.BodyMemory;
import lab.server.api.Front;
import lab.server.execution.Dispatcher;
import lab.server.http.Limits;
import one.nio.http.HttpServer;
import one.nio.http.HttpServerConfig;
import one.nio.http.HttpSession;
import one.nio.net.Session;
import one.nio.net.Socket;
import one.nio.os.NativeLibrary;
import one.nio.server.AcceptorConfig;
import one.nio.server.RejectedSessionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The key-value API over one-nio. Selector threads read, parse and write; who handles, the dispatcher decides. */
public final class KeyValueServer extends HttpServer implements Front {

    private static final Logger LOG = LoggerFactory.getLogger(KeyValueServer.class);
    private static final long LONGEST_PERIOD_MS = 1_000;

    private final Address address;
    private final Limits limits;
    private final Dispatcher dispatcher;
    private final AsPublished variant;
    private final BodyMemory.Rooms rooms = BodyMemory.Rooms.ofHeap();
    private final ScheduledExecutorService headWatch = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("slow-heads").factory());

    /**
     * Binds the port. {@link #start()} begins to serve.
     *
     * @param address    where and how to listen
     * @param limits     what a connection may ask
     * @param dispatcher what serves the requests
     * @param variant    how the responses are made
     * @throws IOException if the port cannot be bound
     */
    public KeyValueServer(Address address, Limits limits, Dispatcher dispatcher, AsPublished variant) throws IOException {
        super(config(address, limits));
        this.variant = variant;
        this.address = address;
        this.limits = limits;
        this.dispatcher = dispatcher;
    }

    /**
     * Where and how to listen.
     *
     * @param host      name or number of the interface
     * @param port      number of the port
     * @param selectors threads that read and write
     * @param backlog   connections that may wait to be accepted
     */
    public record Address(String host, int port, int selectors, int backlog) {
    }

    private static HttpServerConfig config(Address address, Limits limits) {
        AcceptorConfig acceptor = new AcceptorConfig();
        acceptor.address = address.host();
        acceptor.port = address.port();
        acceptor.backlog = address.backlog();
        HttpServerConfig config = new HttpServerConfig();
        config.acceptors = new AcceptorConfig[] {acceptor};
        config.selectors = address.selectors();
        config.closeSessions = true;
        config.keepAlive = limits.idleMs();
        return config;
    }

    /** Does nothing: the paths are known to the API, so no handlers are generated from annotations. */
    @Override
    public void addRequestHandlers(Object router) {
        // See above.
    }

    @Override
    public HttpSession createSession(Socket socket) throws RejectedSessionException {
        if (limits.connections() > 0 && getConnections() >= limits.connections()) {
            closeLongestIdle();
        }
        return variant.isOfResponses()
                ? new PublishedSession(socket, this, limits, rooms, dispatcher, variant == AsPublished.SHARED_RESPONSE)
                : new KeyValueSession(socket, this, limits, rooms, dispatcher);
    }

    private Stream<ReceivingSession> sessions() {
        return Arrays.stream(selectors).flatMap(thread -> StreamSupport.stream(thread.selector.spliterator(), false))
                .map(ReceivingSession.class::cast);
    }

    /** Makes room for one who may have something to ask. */
    private void closeLongestIdle() throws RejectedSessionException {
        if (!sessions().filter(ReceivingSession::isIdle).min(Comparator.comparingLong(Session::lastAccessTime))
                .map(ReceivingSession::closeIfIdle).orElse(false)) {
            throw new RejectedSessionException("There are " + limits.connections() + " connections, and none is idle.");
        }
    }

    private void endSlowHeads() {
        long nowMs = System.currentTimeMillis();
        try {
            sessions().forEach(session -> session.endSlowHead(nowMs));
        } catch (RuntimeException e) {
            // Else it would be the last time.
            LOG.error("Slow heads could not be looked for; it is tried again", e);
        }
    }

    @Override
    public synchronized void start() {
        super.start();
        if (limits.headMs() > 0) {
            long periodMs = Math.min(limits.headMs(), LONGEST_PERIOD_MS);
            headWatch.scheduleWithFixedDelay(this::endSlowHeads, periodMs, periodMs, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public long responses() {
        return getRequestsProcessed();
    }

    @Override
    public int connections() {
        return getConnections();
    }

    @Override
    public Map<String, Object> facts() {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("transport", NativeLibrary.IS_SUPPORTED ? "native" : "java");
        facts.put("selectors", address.selectors());
        return facts;
    }

    @Override
    public synchronized void stop() {
        headWatch.shutdownNow();
        super.stop();
    }

    @Override
    public void close() {
        stop();
    }
}
