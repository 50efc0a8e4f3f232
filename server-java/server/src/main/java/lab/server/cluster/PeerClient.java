package lab.server.cluster;

/** A way to ask one other node. */
@FunctionalInterface
interface PeerClient {

    /**
     * Sends a call. Ends it in every case, within the time-out, on this thread or another one; throws nothing.
     */
    void send(PeerCall call);
}
