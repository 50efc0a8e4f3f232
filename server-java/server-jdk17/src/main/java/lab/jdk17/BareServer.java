package lab.jdk17;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import lab.server.api.Json;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * What the server of report 2 is compared with: the JDK's HTTP server used in the plainest way, with a handler that does
 * nothing, on the threads of the report. No key-value server: it has no store and no limits.
 */
@Command(name = "bare-jdk-server", description = "The simplest server on the JDK's own, to compare with.")
public final class BareServer implements Callable<Integer> {

    private static final byte[] VALUE = "10000".getBytes(StandardCharsets.US_ASCII);
    private static final int OK = 200;
    private static final int CREATED = 201;
    private static final int NO_BODY = -1;
    private static final int BACKLOG = 1024;

    @Option(names = "--executor", defaultValue = "dispatcher", converter = Flags.ExecutorConverter.class,
            description = "Which threads handle requests: dispatcher, cached-pool.")
    private ExecutorKind executor;

    @Option(names = "--host", defaultValue = "127.0.0.1", description = "Interface to listen on.")
    private String host;

    @Option(names = "--port", defaultValue = "0", description = "Port; 0 takes any free one.")
    private int port;

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
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName(host), port), BACKLOG);
        server.createContext("/", BareServer::respond);
        server.setExecutor(executor.create(1));
        server.start();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("event", "ready");
        facts.put("instance", UUID.randomUUID().toString());
        facts.put("port", server.getAddress().getPort());
        facts.put("pid", ProcessHandle.current().pid());
        facts.put("transport", "jdk.httpserver");
        facts.put("execution", executor.toString());
        System.out.println(Json.write(facts));
        System.out.flush();
        return 0;
    }

    private static void respond(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().readAllBytes();
        if (exchange.getRequestMethod().equals("GET")) {
            exchange.sendResponseHeaders(OK, VALUE.length);
            exchange.getResponseBody().write(VALUE);
        } else {
            exchange.sendResponseHeaders(CREATED, NO_BODY);
        }
        exchange.close();
    }
}
