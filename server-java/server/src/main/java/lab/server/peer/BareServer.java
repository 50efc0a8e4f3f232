package lab.server.peer;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import lab.server.api.Json;
import one.nio.http.HttpServer;
import one.nio.http.HttpServerConfig;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.os.NativeLibrary;
import one.nio.server.AcceptorConfig;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * What the server is compared with: one-nio used in the plainest way, with a handler that does nothing, on the threads of
 * one of the reports. No key-value server: it has no store and no limits.
 */
@Command(name = "bare-server", description = "The simplest one-nio server there is, to compare with.")
public final class BareServer implements Callable<Integer> {

    private static final byte[] VALUE = "10000".getBytes(StandardCharsets.US_ASCII);
    private static final int REPORT_5_THREADS = 6;
    private static final int REPORT_5_QUEUE = 128;

    /** On which threads the handler runs. */
    enum Threads {
        /** On the selector. */
        SELECTOR,
        /** On a pool of one thread a core, for which the selector waits. */
        REPORT_3,
        /** On a pool of six behind a queue of 128. */
        REPORT_5
    }

    @Option(names = "--threads", defaultValue = "SELECTOR", description = "One of ${COMPLETION-CANDIDATES}.")
    private Threads threads;

    @Option(names = "--host", defaultValue = "127.0.0.1", description = "Interface to listen on.")
    private String host;

    @Option(names = "--port", defaultValue = "0", description = "Port; 0 takes any free one.")
    private int port;

    @Option(names = "--selectors", defaultValue = "0", description = "Selector threads; 0 is one for each core.")
    private int selectors;

    @Option(names = {"--engine", "--data"}, description = "Taken as the server takes them, and not used.")
    private String ignored;

    private BareServer() {
    }

    /** Runs until the process is stopped. */
    public static void main(String[] args) {
        int exitCode = new CommandLine(new BareServer()).setOverwrittenOptionsAllowed(true).execute(args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    @Override
    public Integer call() throws IOException {
        if (port == 0) {
            try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getByName(host))) {
                port = probe.getLocalPort();
            }
        }
        AcceptorConfig acceptor = new AcceptorConfig();
        acceptor.address = host;
        acceptor.port = port;
        HttpServerConfig config = new HttpServerConfig();
        config.acceptors = new AcceptorConfig[] {acceptor};
        config.selectors = selectors;
        config.closeSessions = true;
        HttpServer server = switch (threads) {
            case SELECTOR -> new OnSelector(config);
            case REPORT_3 -> new WithPool(config, Executors.newFixedThreadPool(
                    Runtime.getRuntime().availableProcessors()), true);
            case REPORT_5 -> new WithPool(config, new ThreadPoolExecutor(REPORT_5_THREADS, REPORT_5_THREADS, 0,
                    TimeUnit.SECONDS, new ArrayBlockingQueue<>(REPORT_5_QUEUE), new ThreadPoolExecutor.AbortPolicy()),
                    false);
        };
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(server::stop, "stop"));
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("event", "ready");
        facts.put("instance", UUID.randomUUID().toString());
        facts.put("port", port);
        facts.put("pid", ProcessHandle.current().pid());
        facts.put("transport", NativeLibrary.IS_SUPPORTED ? "native" : "java");
        facts.put("threads", threads.toString());
        System.out.println(Json.write(facts));
        System.out.flush();
        return 0;
    }

    private static Response response(Request request) {
        return request.getMethod() == Request.METHOD_GET ? Response.ok(VALUE)
                : new Response(Response.CREATED, Response.EMPTY);
    }

    private static final class OnSelector extends HttpServer {

        OnSelector(HttpServerConfig config) throws IOException {
            super(config);
        }

        @Override
        public void handleDefault(Request request, HttpSession session) throws IOException {
            session.sendResponse(response(request));
        }
    }

    private static final class WithPool extends HttpServer {

        private final ExecutorService pool;
        private final boolean waits;

        WithPool(HttpServerConfig config, ExecutorService pool, boolean waits) throws IOException {
            super(config);
            this.pool = pool;
            this.waits = waits;
        }

        @Override
        public void handleDefault(Request request, HttpSession session) throws IOException {
            if (waits) {
                try {
                    session.sendResponse(pool.submit(() -> response(request)).get());
                } catch (InterruptedException | ExecutionException e) {
                    throw new IOException(e);
                }
                return;
            }
            try {
                pool.execute(() -> send(session, response(request)));
            } catch (RejectedExecutionException e) {
                send(session, new Response(Response.SERVICE_UNAVAILABLE, Response.EMPTY));
            }
        }

        private static void send(HttpSession session, Response response) {
            try {
                session.sendResponse(response);
            } catch (IOException e) {
                session.handleException(e);
            }
        }

        @Override
        public synchronized void stop() {
            super.stop();
            pool.shutdown();
        }
    }
}
