package lab.server;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.server.api.Exchange;
import lab.storage.Storage;
import picocli.CommandLine;

/** A server in this process, on a free port, for a test. */
public final class TestServer implements AutoCloseable {

    private static final long TIMEOUT_NANOS = 120_000_000_000L;

    private final RunningNodes nodes;

    private TestServer(RunningNodes nodes) {
        this.nodes = nodes;
    }

    /** Starts an engine; further flags may follow. */
    public static TestServer start(String engine, Path folder, String... flags) {
        return new TestServer(new RunningNodes(options(engine, folder.toString(), flags)));
    }

    /** Starts a server in front of a store of the test; further flags may follow. */
    public static TestServer start(Storage storage, String... flags) {
        return new TestServer(new RunningNodes(options("noop", ".", flags), storage));
    }

    private static Options options(String engine, String folder, String... flags) {
        List<String> args = new ArrayList<>(List.of("--engine", engine, "--data", folder));
        args.addAll(List.of(flags));
        if (!args.contains("--selectors")) {
            args.addAll(List.of("--selectors", "2"));
        }
        if ((args.contains("--nodes") || args.contains("--topology")) && !args.contains("--peer-timeout-ms")) {
            // A node that has ended refuses connections at once; one that is slow, on a busy machine, is waited for.
            args.addAll(List.of("--peer-timeout-ms", "10000"));
        }
        if (!args.contains("--port") && !args.contains("--self")) {
            args.addAll(List.of("--port", "0"));
        }
        Options options = CommandLine.populateCommand(new Options(), args.toArray(new String[0]));
        options.validate();
        return options;
    }

    /** A counter of the status. */
    public long counter(String name) throws IOException {
        try (RawClient client = new RawClient(port())) {
            Matcher matcher = Pattern.compile('"' + name + "\":(\\d+)").matcher(client.ask("GET", "/v0/status").text());
            if (!matcher.find()) {
                throw new AssertionError("No counter " + name);
            }
            return Long.parseLong(matcher.group(1));
        }
    }

    /** Waits until a counter of the status has a value. */
    public void awaitCounter(String name, long value) throws IOException, InterruptedException {
        long end = System.nanoTime() + TIMEOUT_NANOS;
        for (long seen = counter(name); seen != value; seen = counter(name)) {
            if (System.nanoTime() > end) {
                throw new AssertionError(name + " is " + seen + " and does not become " + value);
            }
            Thread.sleep(2);
        }
    }

    /** Port that it listens on. */
    public int port() {
        return nodes.port();
    }

    /** Ports of all nodes. */
    public List<Integer> ports() {
        return nodes.servers().stream().map(server -> server.instance().port()).toList();
    }

    /** The header field, with its line break, by which nodes of this cluster know each other. */
    public String proof() {
        return Exchange.INTERNAL_FIELD + ": " + nodes.servers().getFirst().secret().fieldValue() + "\r\n";
    }

    /** The line that says that all nodes are ready. */
    public String readyLine() {
        return nodes.readyLine();
    }

    /** Stops one node. */
    public void stop(int node) {
        nodes.servers().get(node).close();
    }

    @Override
    public void close() {
        nodes.close();
    }
}
