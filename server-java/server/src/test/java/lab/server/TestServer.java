package lab.server;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;

/** A server in this process, on a free port, for a test. */
public final class TestServer implements AutoCloseable {

    private final RunningNodes nodes;

    private TestServer(RunningNodes nodes) {
        this.nodes = nodes;
    }

    /** Starts an engine; further flags may follow. */
    public static TestServer start(String engine, Path folder, String... flags) {
        List<String> args = new ArrayList<>(List.of("--engine", engine, "--data", folder.toString(), "--port", "0",
                "--selectors", "2"));
        args.addAll(List.of(flags));
        Options options = CommandLine.populateCommand(new Options(), args.toArray(new String[0]));
        options.validate();
        return new TestServer(new RunningNodes(options));
    }

    /** Port that it answers on. */
    public int port() {
        return nodes.port();
    }

    /** Ports of all nodes. */
    public List<Integer> ports() {
        return nodes.servers().stream().map(server -> server.instance().port()).toList();
    }

    /** The line that says that all nodes answer. */
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
