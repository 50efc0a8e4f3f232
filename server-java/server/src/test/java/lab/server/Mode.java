package lab.server;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import lab.jdk17.Jdk17Server;
import lab.storage.conformance.Length;

/**
 * One way to run the server. Every front, engine and execution mode is tested in the short form too, each with some of
 * the others; all combinations are tested where {@code LAB_LONG=1}.
 */
record Mode(String front, String engine, String execution) {

    private static final List<String> FRONTS = List.of("one-nio", "jdk");
    /** The server of report 2, which is another program. */
    private static final String JDK17 = "jdk17";
    private static final List<String> JDK17_EXECUTIONS = List.of("dispatcher", "cached-pool", "fixed", "virtual");
    private static final List<String> ENGINES = List.of("memory", "lsm", "rocksdb", "leveldb", "files");
    private static final List<String> EXECUTIONS = List.of("selector", "blocking-pool", "pool", "virtual");

    static Stream<Mode> all() {
        List<Mode> modes = new ArrayList<>();
        for (String front : FRONTS) {
            for (String engine : ENGINES) {
                for (String execution : EXECUTIONS) {
                    Mode mode = new Mode(front, engine, execution);
                    boolean everyExecution = engine.equals("memory");
                    boolean everyEngine = execution.equals(front.equals("jdk") ? "virtual" : "pool");
                    if (Length.LONG || everyExecution || everyEngine) {
                        modes.add(mode);
                    }
                }
            }
        }
        JDK17_EXECUTIONS.forEach(execution -> modes.add(new Mode(JDK17, "files", execution)));
        modes.add(new Mode(JDK17, "memory", "cached-pool"));
        return modes.stream();
    }

    /** Every front and execution mode, with the engine that starts fastest. */
    static Stream<Mode> onMemory() {
        return all().filter(mode -> mode.engine.equals("memory") && !mode.isJdk17());
    }

    /** Every execution mode of one-nio, with the engine that starts fastest. */
    static Stream<Mode> onOneNio() {
        return onMemory().filter(Mode::isOneNio);
    }

    /** Modes in which a client cannot hold up others by sending slowly: all but those with one thread that reads. */
    static Stream<Mode> withManyReaders() {
        return onMemory().filter(mode -> mode.isOneNio()
                || !mode.execution.equals("selector") && !mode.execution.equals("blocking-pool"));
    }

    boolean isOneNio() {
        return front.equals("one-nio");
    }

    boolean isJdk17() {
        return front.equals(JDK17);
    }

    /** Starts the server of this mode on a free port; the caller closes it. */
    Started start(Path folder) {
        if (isJdk17()) {
            Jdk17Server server = Jdk17Server.start("--engine", engine, "--data", folder.toString(), "--port", "0",
                    "--executor", execution);
            return new Started(server.port(), server);
        }
        TestServer server = TestServer.start(engine, folder, flags());
        return new Started(server.port(), server);
    }

    /** A server that listens on a port. */
    record Started(int port, AutoCloseable server) {
    }

    /** Flags of the server, with further ones. */
    String[] flags(String... more) {
        List<String> flags = new ArrayList<>(List.of("--front", front, "--execution", execution));
        flags.addAll(List.of(more));
        return flags.toArray(new String[0]);
    }

    @Override
    public String toString() {
        return front + ", " + engine + ", " + execution;
    }
}
