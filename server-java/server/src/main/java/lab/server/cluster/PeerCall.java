package lab.server.cluster;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One request to another node and what becomes of it. Ends once, with a response or with a failure, on whatever thread
 * the client has; what comes later is ignored. All calls may be repeated without harm, because each has its version.
 *
 * <p>The flag that it extends says whether it has ended.
 */
@SuppressWarnings("serial")
abstract class PeerCall extends AtomicBoolean {

    /** What is asked. */
    enum Kind {
        /** The record of a key. */
        GET,
        /** To store a record. */
        PUT,
        /** Whether the node is there. */
        PROBE,
        /** To take note that this node has started. */
        ANNOUNCE;

        /** Whether it serves a request of a client. */
        boolean isCounted() {
            return this == GET || this == PUT;
        }
    }

    private static final int OK = 200;
    private static final int CREATED = 201;
    private static final int NOT_FOUND = 404;

    private final Kind kind;
    private final byte[] key;
    private final byte[] record;
    private Peer peer;
    private long startNanos;
    private boolean triedAgain;

    /**
     * @param key    null for a probe; the address of this node for an announcement
     * @param record what to store, or null
     */
    PeerCall(Kind kind, byte[] key, byte[] record) {
        this.kind = kind;
        this.key = key;
        this.record = record;
    }

    final Kind kind() {
        return kind;
    }

    final byte[] key() {
        return key;
    }

    final byte[] record() {
        return record;
    }

    /** When it was sent, by {@link System#nanoTime()}. */
    final long startNanos() {
        return startNanos;
    }

    final void start(Peer to, long nowNanos) {
        peer = to;
        startNanos = nowNanos;
    }

    /** Whether it may be sent once more, because its connection broke; true once. */
    final boolean takeSecondTry() {
        boolean first = !triedAgain && !get() && !isInVain();
        triedAgain = true;
        return first;
    }

    /** Whether its node was set aside while it waited to be sent. A probe is sent to find out just that. */
    final boolean isInVain() {
        return kind != Kind.PROBE && peer.isAside();
    }

    /**
     * Ends it with a response.
     *
     * @param body the record, for a GET that found one; the newer version, for a PUT that was refused with 200
     */
    final void end(int status, byte[] body) {
        if (compareAndSet(false, true)) {
            boolean expected = switch (kind) {
                case GET -> status == OK || status == NOT_FOUND;
                case PUT -> status == OK || status == CREATED;
                case PROBE, ANNOUNCE -> status == OK;
            };
            peer.ended(this, expected ? null : PeerFailure.REFUSED);
            if (expected) {
                responded(status == OK ? body : null);
            } else {
                failed(PeerFailure.REFUSED);
            }
        }
    }

    /** Ends it without a response. */
    final void fail(PeerFailure failure) {
        if (compareAndSet(false, true)) {
            peer.ended(this, failure);
            failed(failure);
        }
    }

    /**
     * Called when the node has responded.
     *
     * @param stored the record that a GET found, or one with the newer version for which a PUT was refused; else null
     */
    abstract void responded(byte[] stored);

    /** Called when there will be no response that counts. */
    abstract void failed(PeerFailure failure);
}
