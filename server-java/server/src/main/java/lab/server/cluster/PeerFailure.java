package lab.server.cluster;

import java.util.Locale;

/** Why another node gave no answer that counts. */
enum PeerFailure {
    /** No connection, or it broke before the answer. */
    UNREACHABLE,
    /** No answer within the time-out. */
    TIMED_OUT,
    /** The node is set aside because it was not there a moment ago; it was not asked. */
    SET_ASIDE,
    /** The client on this node has no room for a further call; the other node was not asked. */
    OVERLOADED,
    /** It answered that it failed. */
    REFUSED;

    /** Whether the node itself is in doubt, so that asking it again at once would only cost time. */
    boolean doubtful() {
        return this == UNREACHABLE || this == TIMED_OUT;
    }

    /** Name in {@code /v0/status}. */
    String key() {
        return name().toLowerCase(Locale.ROOT);
    }
}
