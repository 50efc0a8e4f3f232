package lab.server;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;

/** A server in this process, on a free port, for a test. */
public final class TestServer implements AutoCloseable {

    private final RunningServer server;

    private TestServer(RunningServer server) {
        this.server = server;
    }

    /** Starts an engine; further flags may follow. */
    public static TestServer start(String engine, Path folder, String... flags) {
        List<String> args = new ArrayList<>(List.of("--engine", engine, "--data", folder.toString(), "--port", "0",
                "--selectors", "2"));
        args.addAll(List.of(flags));
        Options options = CommandLine.populateCommand(new Options(), args.toArray(new String[0]));
        options.validate();
        return new TestServer(new RunningServer(options));
    }

    /** Port that it answers on. */
    public int port() {
        return server.instance().port();
    }

    @Override
    public void close() {
        server.close();
    }
}
