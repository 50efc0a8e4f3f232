package lab.server.cluster;

/** What carries the calls of one node to all others: threads and connections. */
interface PeerTransport extends AutoCloseable {

    /**
     * A client for one node. Connects when it is needed.
     *
     * @param url address of the node
     */
    PeerClient to(String url);

    /** Ends the calls that are under way, as failures, and stops. No call ends after this method has returned. */
    @Override
    void close();
}
