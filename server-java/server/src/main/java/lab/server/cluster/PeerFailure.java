package lab.server.cluster;

import java.io.InterruptedIOException;
import java.net.NoRouteToHostException;
import java.net.http.HttpTimeoutException;
import java.util.Locale;

/** Why another node gave no response that counts. */
enum PeerFailure {
    /** No connection, or it broke before the response. Found out at once, so it costs nothing to try again. */
    UNREACHABLE,
    /** No response within the time-out, or no way to the machine, which takes as long to find out. */
    TIMED_OUT,
    /** The node is set aside because it was not there a moment ago; it was not asked. */
    SET_ASIDE,
    /** The client on this node has no room for a further call; the other node was not asked. */
    OVERLOADED,
    /** It responded that it failed. */
    REFUSED;

    /** What an exception of a client means. */
    static PeerFailure of(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof InterruptedIOException || cause instanceof HttpTimeoutException
                    || cause instanceof NoRouteToHostException) {
                return TIMED_OUT;
            }
        }
        return UNREACHABLE;
    }

    /** Name in {@code /v0/status}. */
    String key() {
        return name().toLowerCase(Locale.ROOT);
    }
}
