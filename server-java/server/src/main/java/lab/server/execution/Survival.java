package lab.server.execution;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps a thread that serves everybody alive when one request fails in a way that nobody has foreseen. */
final class Survival {

    private static final Logger LOG = LoggerFactory.getLogger(Survival.class);

    private Survival() {
    }

    /** Logs a failure, as far as that is possible. Throws nothing. */
    static void log(Throwable failure) {
        try {
            LOG.error("A request failed and its failure could not be handled; its thread goes on", failure);
        } catch (Throwable second) {
            // There is no memory or no stack even for a line of the log, and the next request may need less.
        }
    }
}
