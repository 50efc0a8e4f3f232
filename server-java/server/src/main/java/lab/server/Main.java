package lab.server;

import java.io.PrintWriter;
import java.util.Arrays;
import java.util.concurrent.Callable;
import lab.storage.StorageException;
import lab.storage.lsm.tool.LsmCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * Starts the server. Prints one line of JSON on the standard output when it is ready, and nothing else there; logs go to
 * the standard error. Stops cleanly on SIGTERM and SIGINT.
 *
 * <p>{@code --help} names the exit codes.
 */
@Command(name = "server", sortOptions = false, description = "A key-value server over HTTP.",
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:--help was shown.", "1:The store could not be closed cleanly.",
            "2:A flag is wrong, the port is taken, or the store cannot be opened; the standard error says which.",
            "130:Stopped by SIGINT; everything is on disk.", "143:Stopped by SIGTERM; everything is on disk."},
        footer = {"", "JVM flags:",
            "  -Xmx128m                       heap; memtables and tables lie outside of it",
            "  --enable-native-access=ALL-UNNAMED, --sun-misc-unsafe-memory-access=allow",
            "                                 for one-nio; without them JDK 25 warns",
            "",
            "Ready line: one line of JSON on the standard output as soon as the server",
            "responds, and nothing else there; logs go to the standard error.",
            "  {\"event\":\"ready\",\"instance\":\"...\",\"port\":8080,\"pid\":4711,...}",
            "",
            "One node:",
            "  FLAGS=\"-Xmx128m --enable-native-access=ALL-UNNAMED\"",
            "  FLAGS=\"$FLAGS --sun-misc-unsafe-memory-access=allow\"",
            "  SERVER=\"java $FLAGS -jar server.jar --engine lsm\"",
            "  $SERVER --data data --port 8080",
            "",
            "Three nodes:",
            "  NODES=http://127.0.0.1:8081,http://127.0.0.1:8082,http://127.0.0.1:8083",
            "  (umask 077; openssl rand -hex 32 > secret)",
            "  CLUSTER=\"--topology $NODES --cluster-secret-file secret\"",
            "  $SERVER --data data1 $CLUSTER --self http://127.0.0.1:8081 &",
            "  $SERVER --data data2 $CLUSTER --self http://127.0.0.1:8082 &",
            "  $SERVER --data data3 $CLUSTER --self http://127.0.0.1:8083 &",
            "",
            "Three nodes in one process:",
            "  $SERVER --data data --port 8081 --nodes 3",
            "",
            "A store of the engine lsm that no server has open:",
            "  java -jar server.jar lsm dump|verify|repair FOLDER",
            "shows its contents, names what is damaged, or keeps what is whole."})
public final class Main implements Callable<Integer> {

    private static final int EXIT_CANNOT_START = 2;
    private static final int EXIT_CANNOT_STOP = 1;

    @Spec
    private CommandSpec command;

    @Mixin
    private Options options;

    @picocli.CommandLine.Option(names = {"-h", "--help"}, usageHelp = true, description = "Show this text and exit.")
    private boolean help;

    private Main() {
    }

    /** Runs until the process is stopped; with {@code lsm} as the first argument, the tool for closed stores. */
    public static void main(String[] args) {
        if (args.length > 0 && args[0].equals("lsm")) {
            LsmCommand.main(Arrays.copyOfRange(args, 1, args.length));
        }
        int exitCode = run(new PrintWriter(System.err, true), args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    /** Starts the server; gives the exit code, which is 0 if it runs. */
    static int run(PrintWriter errors, String... args) {
        return Flags.withEnums(new CommandLine(new Main())).setErr(errors).execute(args);
    }

    @Override
    public Integer call() {
        RunningNodes server;
        try {
            options.validate();
            server = new RunningNodes(options);
        } catch (IllegalArgumentException | PortTakenException | StorageException e) {
            command.commandLine().getErr().println(e.getMessage());
            return EXIT_CANNOT_START;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server), "stop"));
        System.out.println(server.readyLine());
        System.out.flush();
        // The threads of the front keep the process alive.
        return 0;
    }

    private static void stop(RunningNodes server) {
        try {
            server.close();
        } catch (RuntimeException e) {
            System.err.println("The store could not be closed cleanly: " + e.getMessage());
            Runtime.getRuntime().halt(EXIT_CANNOT_STOP);
        }
    }
}
