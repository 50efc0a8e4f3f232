package lab.server;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Optional;

/** How many files a process may have open here; a connection is one at either end. */
final class OpenFiles {

    /** What a process has open besides: class path, pollers, logs, the store. */
    static final int BESIDES = 500;

    private OpenFiles() {
    }

    /** The limit of this process, which its children have too. A JVM has raised it to the hard limit when it started. */
    static long limit() {
        return ((UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getMaxFileDescriptorCount();
    }

    /** Leaves a test out where the limit is too low, and says so also where only the number of such tests is shown. */
    static void assumeRoomFor(int connections) {
        Optional<String> lack = lackFor(connections, limit());
        lack.ifPresent(text -> System.out.println("left out: " + text));
        assumeTrue(lack.isEmpty(), () -> lack.orElse(""));
    }

    /** What is missing for so many connections under a limit, if anything. */
    static Optional<String> lackFor(int connections, long limit) {
        int needed = connections + BESIDES;
        return limit >= needed ? Optional.empty() : Optional.of(connections + " idle connections need " + needed
                + " open files in a process, and the hard limit here is " + limit
                + "; raise it (ulimit -Hn, or nofile in limits.conf)");
    }
}
