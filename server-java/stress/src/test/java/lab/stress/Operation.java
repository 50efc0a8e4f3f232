package lab.stress;

/**
 * One request of a client and what it saw of it. Times are of {@link System#nanoTime()} of the process that has all
 * clients.
 *
 * @param value      what was written or read; null for a deletion, and for a read that found nothing
 * @param endNanos   when the client knew the outcome
 */
record Operation(Kind kind, String key, String value, long startNanos, long endNanos, Outcome outcome) {

    /** What was asked. */
    enum Kind { PUT, DELETE, GET }

    /** What the client knows. */
    enum Outcome {
        /** Acknowledged. */
        DONE,
        /** Refused by the coordinator after it was stamped: it may be on some replicas, now or later. */
        REFUSED,
        /** No response came: it may be on some replicas, now or later, stamped at any time since its start. */
        UNKNOWN,
        /** It never reached a node. */
        NEVER_SENT
    }

    boolean isWrite() {
        return kind != Kind.GET;
    }

    /** The version was stamped at this time at the latest. */
    long stampedByNanos() {
        return outcome == Outcome.UNKNOWN ? Long.MAX_VALUE : endNanos;
    }

    @Override
    public String toString() {
        return kind + " " + key + (value == null ? "" : "=" + value) + " " + outcome + " [" + startNanos / 1_000 + ".."
                + endNanos / 1_000 + " us]";
    }
}
