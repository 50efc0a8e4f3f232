package lab.server;

import static lab.server.Flags.require;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;

/** Where the server listens, what carries the requests, and what a client may ask of it. */
final class NetworkFlags {

    static final int MAX_PORT = 65535;
    private static final int DEFAULT_PORT = 8080;
    private static final String DEFAULT_HOST = "127.0.0.1";
    private static final int LARGEST_VALUE_BYTES = 1 << 30;
    private static final int SMALLEST_HEAD_BYTES = 1024;
    /** One-nio takes anything less for seconds. */
    private static final int SHORTEST_IDLE_MS = 1000;

    @Option(names = "--front", defaultValue = "one-nio", converter = FrontConverter.class, paramLabel = "FRONT",
            description = "What carries HTTP: one-nio or jdk (com.sun.net.httpserver). Default: ${DEFAULT-VALUE}.")
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
            description = "Further connections are closed at once; 0 for no limit. Default: ${DEFAULT-VALUE}.")
    private int maxConnections;

    @Option(names = "--idle-timeout-ms", defaultValue = "60000", paramLabel = "MS",
            description = "one-nio: a connection that sends and is sent nothing for this long is closed, at the latest "
                    + "after twice this long; 0 for never. Default: ${DEFAULT-VALUE}. Connections of other nodes stay.")
    private int idleTimeoutMs;

    @Option(names = "--max-value-bytes", defaultValue = "16777216", paramLabel = "BYTES",
            description = "Larger values are refused with 413. Default: ${DEFAULT-VALUE}.")
    private int maxValueBytes;

    @Option(names = "--max-head-bytes", defaultValue = "131072", paramLabel = "BYTES",
            description = "one-nio: requests with larger heads are refused with 431. Default: ${DEFAULT-VALUE}.")
    private int maxHeadBytes;

    void validate() {
        require(port() >= 0 && port() <= MAX_PORT, "--port is " + port() + ", but must be 0 to " + MAX_PORT + ".");
        require(selectors >= 0, "--selectors is " + selectors + ", but must be at least 1, or 0 for one each core.");
        require(backlog > 0, "--backlog is " + backlog + ", but must be at least 1.");
        require(maxConnections >= 0, "--max-connections is " + maxConnections
                + ", but must be at least 1, or 0 for no limit.");
        require(idleTimeoutMs == 0 || idleTimeoutMs >= SHORTEST_IDLE_MS, "--idle-timeout-ms is " + idleTimeoutMs
                + ", but must be at least " + SHORTEST_IDLE_MS + ", or 0 for never.");
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

    int maxConnections() {
        return maxConnections;
    }

    int idleTimeoutMs() {
        return idleTimeoutMs;
    }

    int maxValueBytes() {
        return maxValueBytes;
    }

    int maxHeadBytes() {
        return maxHeadBytes;
    }

    private static final class FrontConverter implements ITypeConverter<FrontKind> {
        @Override
        public FrontKind convert(String text) {
            return Flags.byFlag(FrontKind.class, text);
        }
    }
}
