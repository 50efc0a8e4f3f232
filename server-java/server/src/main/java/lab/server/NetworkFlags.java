package lab.server;

import static lab.server.Flags.require;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import lab.server.api.ClusterSecret;
import lab.server.http.Limits;
import picocli.CommandLine.Option;

/** Where the server listens, what carries the requests, and what a client may ask of it. */
final class NetworkFlags {

    static final int MAX_PORT = 65535;
    private static final int DEFAULT_PORT = 8080;
    private static final String DEFAULT_HOST = "127.0.0.1";
    private static final int LARGEST_VALUE_BYTES = 1 << 30;
    private static final int SMALLEST_HEAD_BYTES = 1024;
    /** What the store, its log and other nodes may need. */
    private static final int OTHER_FILES = 500;
    /** One-nio takes anything less for seconds. */
    private static final int SHORTEST_IDLE_MS = 1000;

    @Option(names = "--front", defaultValue = "one-nio", paramLabel = "FRONT",
            description = "What carries HTTP: one-nio, or jdk (sockets of the JDK, and a virtual thread for each "
                    + "connection). Default: ${DEFAULT-VALUE}.")
    private FrontKind front;

    @Option(names = "--port", paramLabel = "N",
            description = "Port to listen on; 0 takes any free one. Default: " + DEFAULT_PORT + "; with --self, its port.")
    private Integer port;

    @Option(names = "--host", paramLabel = "ADDRESS",
            description = "Interface to listen on; 0.0.0.0 is all of them. Default: " + DEFAULT_HOST + ", this machine "
                    + "only; with --self, its host.")
    private String host;

    @Option(names = "--selectors", defaultValue = "0", paramLabel = "N",
            description = "one-nio: threads that read and write. Default: 0, one for each core.")
    private int selectors;

    @Option(names = "--backlog", defaultValue = "1024", paramLabel = "N",
            description = "Connections that may wait to be accepted. Default: ${DEFAULT-VALUE}.")
    private int backlog;

    @Option(names = "--max-connections", defaultValue = "10000", paramLabel = "N",
            description = "For a further connection the one that has been idle for longest is closed, or it itself if none "
                    + "is; 0 for as many as the limit of open files allows, which bounds it in any case. Default: "
                    + "${DEFAULT-VALUE}.")
    private int maxConnections;

    @Option(names = "--idle-timeout-ms", defaultValue = "60000", paramLabel = "MS",
            description = "A connection that sends and is sent nothing for this long is closed, at the latest "
                    + "after twice this long; 0 for never. Default: ${DEFAULT-VALUE}. Connections of other nodes stay.")
    private int idleTimeoutMs;

    @Option(names = "--head-timeout-ms", defaultValue = "30000", paramLabel = "MS",
            description = "A request whose head takes longer than this, from its first byte to its last, is refused with "
                    + "408; 0 for no limit. Default: ${DEFAULT-VALUE}.")
    private int headTimeoutMs;

    @Option(names = "--max-value-bytes", defaultValue = "16777216", paramLabel = "BYTES",
            description = "Larger values are refused with 413. Default: ${DEFAULT-VALUE}.")
    private int maxValueBytes;

    @Option(names = "--max-head-bytes", defaultValue = "131072", paramLabel = "BYTES",
            description = "Requests with larger heads are refused with 431. Default: ${DEFAULT-VALUE}.")
    private int maxHeadBytes;

    void validate() {
        require(port() >= 0 && port() <= MAX_PORT, "--port is " + port() + ", but must be 0 to " + MAX_PORT + ".");
        require(selectors >= 0, "--selectors is " + selectors + ", but must be at least 1, or 0 for one each core.");
        require(backlog > 0, "--backlog is " + backlog + ", but must be at least 1.");
        require(maxConnections >= 0, "--max-connections is " + maxConnections
                + ", but must be at least 1, or 0 for no limit.");
        require(idleTimeoutMs == 0 || idleTimeoutMs >= SHORTEST_IDLE_MS, "--idle-timeout-ms is " + idleTimeoutMs
                + ", but must be at least " + SHORTEST_IDLE_MS + ", or 0 for never.");
        require(headTimeoutMs >= 0, "--head-timeout-ms is " + headTimeoutMs + ", but must be at least 1, or 0 for no limit.");
        require(maxValueBytes >= 0 && maxValueBytes <= LARGEST_VALUE_BYTES, "--max-value-bytes is " + maxValueBytes
                + ", but must be 0 to " + LARGEST_VALUE_BYTES + ".");
        require(maxHeadBytes >= SMALLEST_HEAD_BYTES, "--max-head-bytes is " + maxHeadBytes + ", but must be at least "
                + SMALLEST_HEAD_BYTES + ".");
    }

    FrontKind front() {
        return front;
    }

    int port() {
        return port == null ? DEFAULT_PORT : port;
    }

    String host() {
        return host == null ? DEFAULT_HOST : host;
    }

    /** The port on the command line, or null. */
    Integer givenPort() {
        return port;
    }

    /** The interface on the command line, or null. */
    String givenHost() {
        return host;
    }

    int selectors() {
        return selectors == 0 ? Runtime.getRuntime().availableProcessors() : selectors;
    }

    int backlog() {
        return backlog;
    }

    int maxValueBytes() {
        return maxValueBytes;
    }

    /**
     * What a connection may ask. Connections are fewer than the files that may be open, for the store and the log need some too.
     *
     * @param secret proves that another node sent a request; null if there is none
     */
    Limits limits(ClusterSecret secret) {
        long files = ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                ? unix.getMaxFileDescriptorCount() - OTHER_FILES : Integer.MAX_VALUE;
        int open = Math.clamp(files, 1, Integer.MAX_VALUE);
        return new Limits(maxValueBytes, maxHeadBytes, maxConnections == 0 ? open : Math.min(maxConnections, open),
                idleTimeoutMs, headTimeoutMs, secret);
    }
}
