package lab.server.onenio;

import java.io.IOException;
import lab.server.api.KeyValueApi;
import one.nio.http.HttpServer;
import one.nio.http.HttpServerConfig;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.net.Socket;
import one.nio.os.NativeLibrary;
import one.nio.server.AcceptorConfig;

/** The key-value API over one-nio. Requests are handled on the selector threads. */
public final class KeyValueServer extends HttpServer {

    /** Large bodies together may take this part of the heap while they are received. */
    private static final int BODY_HEAP_SHARE = 8;

    private final KeyValueApi api;
    private final int maxValueBytes;
    private final BodyMemory bodyMemory = new BodyMemory(Runtime.getRuntime().maxMemory() / BODY_HEAP_SHARE);

    /**
     * Binds the port. {@link #start()} begins to answer.
     *
     * @param address       where and how to listen
     * @param api           what answers
     * @param maxValueBytes larger bodies are answered with 413
     * @throws IOException if the port cannot be bound
     */
    public KeyValueServer(Address address, KeyValueApi api, int maxValueBytes) throws IOException {
        super(config(address));
        this.api = api;
        this.maxValueBytes = maxValueBytes;
    }

    /**
     * Where and how to listen.
     *
     * @param host      name or number of the interface
     * @param port      number of the port
     * @param selectors threads that read, handle and write
     * @param backlog   connections that may wait to be accepted
     */
    public record Address(String host, int port, int selectors, int backlog) {
    }

    /** Whether one-nio's own epoll transport is in use; otherwise it is that of the JDK. */
    public static boolean nativeTransport() {
        return NativeLibrary.IS_SUPPORTED;
    }

    private static HttpServerConfig config(Address address) {
        AcceptorConfig acceptor = new AcceptorConfig();
        acceptor.address = address.host();
        acceptor.port = address.port();
        acceptor.backlog = address.backlog();
        HttpServerConfig config = new HttpServerConfig();
        config.acceptors = new AcceptorConfig[] {acceptor};
        config.selectors = address.selectors();
        config.closeSessions = true;
        return config;
    }

    /** Does nothing: the paths are known to the API, so no handlers are generated from annotations. */
    @Override
    public void addRequestHandlers(Object router) {
        // See above.
    }

    @Override
    public HttpSession createSession(Socket socket) {
        return new KeyValueSession(socket, this, maxValueBytes, bodyMemory);
    }

    @Override
    public void handleRequest(Request request, HttpSession session) throws IOException {
        KeyValueSession exchange = (KeyValueSession) session;
        ReceivedRequest received = (ReceivedRequest) request;
        if (received.rejection != null) {
            exchange.respond(received.rejection, received.rejectionText);
        } else {
            api.handle(exchange);
        }
    }
}
