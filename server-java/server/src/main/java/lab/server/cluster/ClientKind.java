package lab.server.cluster;

import java.util.Locale;

/** The clients between nodes that {@code --client} knows. */
public enum ClientKind {

    /** Ours: one thread, one connection to each node, many calls on it at once; no thread waits. */
    PIPELINED(false) {
        @Override
        PeerTransport open(ClusterSettings settings) {
            return new PipelinedTransport(settings.peerTimeoutMs(), MAX_CALLS, settings.secret());
        }
    },

    /** One-nio's: a pool of connections, and a thread waits for each response. */
    ONE_NIO(true) {
        @Override
        PeerTransport open(ClusterSettings settings) {
            return new BlockingTransport(url -> new OneNioCaller(url, settings.peerThreads(), settings.peerTimeoutMs(),
                    settings.secret(), settings.unusedResponse()),
                    settings.peerThreads(), QUEUED_CALLS, settings.peerTimeoutMs(), settings.clientLock());
        }
    },

    /** {@code java.net.http}; a thread waits for each response. */
    JDK(true) {
        @Override
        PeerTransport open(ClusterSettings settings) {
            return new BlockingTransport(url -> new JdkCaller(url, settings.peerTimeoutMs(), settings.secret()),
                    settings.peerThreads(), QUEUED_CALLS, settings.peerTimeoutMs(), settings.clientLock());
        }
    };

    /** Calls under way to one node, of a client that needs no thread for each. */
    static final int MAX_CALLS = 4096;
    /** Calls that wait for a thread, of a client that needs one for each; as many as in the published report. */
    static final int QUEUED_CALLS = 128;

    private final boolean blocking;

    ClientKind(boolean blocking) {
        this.blocking = blocking;
    }

    abstract PeerTransport open(ClusterSettings settings);

    /** Whether a thread waits for each response. */
    public boolean blocking() {
        return blocking;
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
