package lab.jdk17;

import java.util.concurrent.Callable;
import lab.storage.StorageException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/**
 * Starts the server of report 2. Prints one line of JSON on the standard output when it is ready; logs go to the standard
 * error. Stops cleanly on SIGTERM and SIGINT. Exit code 2 if it cannot start.
 *
 * <p>Whether responses wait for delayed acknowledgements is up to the JVM: {@code -Dsun.net.httpserver.nodelay=true|false}.
 */
@Command(name = "server-jdk17", sortOptions = false, description = "A key-value server over com.sun.net.httpserver, for "
        + "JDK 17 and newer. The JVM flag -Dsun.net.httpserver.nodelay=true|false says whether small writes wait.")
public final class Main implements Callable<Integer> {

    private static final int EXIT_CANNOT_START = 2;

    @Mixin
    private Flags flags;

    @CommandLine.Option(names = {"-h", "--help"}, usageHelp = true, description = "Show this text and exit.")
    private boolean help;

    private Main() {
    }

    /** Runs until the process is stopped. */
    public static void main(String[] args) {
        int exitCode = new CommandLine(new Main()).execute(args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    @Override
    public Integer call() {
        Jdk17Server server;
        try {
            flags.validate();
            server = new Jdk17Server(flags);
        } catch (IllegalArgumentException | StorageException e) {
            System.err.println(e.getMessage());
            return EXIT_CANNOT_START;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(server::close, "stop"));
        System.out.println(server.readyLine());
        System.out.flush();
        // The dispatcher thread of the JDK's server keeps the process alive.
        return 0;
    }
}
