package lab.server;

import java.util.concurrent.Callable;
import lab.storage.StorageException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/**
 * Starts the server. Prints one line of JSON on the standard output when it answers, and nothing else there; logs go to
 * the standard error. Stops cleanly on SIGTERM and SIGINT.
 *
 * <p>Exit codes: 2 if a flag is wrong, the port is taken or the store cannot be opened; 1 if the store cannot be closed
 * cleanly; 143 after SIGTERM (130 after SIGINT), when everything is on disk.
 */
@Command(name = "server", sortOptions = false, description = "A key-value server over HTTP.")
public final class Main implements Callable<Integer> {

    private static final int EXIT_CANNOT_START = 2;
    private static final int EXIT_CANNOT_STOP = 1;

    @Mixin
    private Options options;

    @picocli.CommandLine.Option(names = {"-h", "--help"}, usageHelp = true, description = "Show this text and exit.")
    private boolean help;

    private Main() {
    }

    /** Runs until the process is told to stop. */
    public static void main(String[] args) {
        int exitCode = new CommandLine(new Main()).execute(args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    @Override
    public Integer call() {
        RunningNodes server;
        try {
            options.validate();
            server = new RunningNodes(options);
        } catch (IllegalArgumentException | PortTakenException | StorageException e) {
            System.err.println(e.getMessage());
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
