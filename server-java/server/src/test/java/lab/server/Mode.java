package lab.server;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.stream.Stream;
import lab.jdk17.Jdk17Server;
import lab.server.execution.ExecutionKind;
import lab.storage.conformance.Length;

/**
 * One way to run the server. Every front, engine and execution mode is tested in the short form too, each with some of
 * the others; what is left to {@code make test-long} are the other combinations.
 */
record Mode(String front, String engine, String execution) {

    private static final String MEMORY = Engine.MEMORY.toString();
    /** The server of report 2, which is another program. */
    private static final String JDK17 = "jdk17";
    private static final List<String> JDK17_EXECUTIONS = List.of("dispatcher", "cached-pool", "fixed", "virtual");

    static Stream<Mode> all() {
        List<Mode> modes = new ArrayList<>();
        for (String front : named(List.of(FrontKind.values()))) {
            for (String engine : named(EnumSet.complementOf(EnumSet.of(Engine.NOOP)))) {
                for (String execution : named(List.of(ExecutionKind.values()))) {
                    modes.add(new Mode(front, engine, execution));
                }
            }
        }
        JDK17_EXECUTIONS.forEach(execution -> modes.add(new Mode(JDK17, "files", execution)));
        modes.add(new Mode(JDK17, MEMORY, "cached-pool"));
        return modes.stream();
    }

    private static List<String> named(Collection<? extends Enum<?>> flags) {
        return flags.stream().map(Enum::toString).toList();
    }

    /** Leaves a combination to the long form whose parts are tested with others. */
    void assumeInThisForm() {
        boolean everyExecution = engine.equals(MEMORY);
        boolean everyEngine = isOneNio() ? execution.equals("pool") : engine.equals("lsm") && execution.equals("virtual");
        if (!isJdk17() && !everyExecution && !everyEngine) {
            Length.assumeLong();
        }
    }

    /** Every front and execution mode, with the engine that starts fastest. */
    static Stream<Mode> onMemory() {
        return all().filter(mode -> mode.engine.equals(MEMORY) && !mode.isJdk17());
    }

    /** Every execution mode of one-nio, with the engine that starts fastest. */
    static Stream<Mode> onOneNio() {
        return onMemory().filter(Mode::isOneNio);
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
