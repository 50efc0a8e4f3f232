package lab.server.api;

import java.io.IOException;
import lab.storage.Cursor;

/**
 * What the requests are about: the entries of this node, or of the cluster that it is part of. Responds to each
 * exchange itself, now or later.
 */
public interface Entities {

    /** Nodes in all; no more replicas than these can be asked for. */
    default int nodes() {
        return 1;
    }

    /** Replicas of a request that does not say {@code from}. */
    default int defaultFrom() {
        return 1;
    }

    /**
     * Replicas that must have responded, for a request that does not say {@code ack}.
     *
     * @param from replicas as the request says, or {@link #defaultFrom()}
     */
    default int defaultAck(int from) {
        return 1;
    }

    /** Serves a {@code GET}: 200 with the value, or 404; 504 if fewer than {@code ack} of {@code from} replicas respond. */
    void get(Exchange exchange, byte[] key, int from, int ack) throws IOException;

    /** Serves a {@code PUT} of the body: 201, or 504. */
    void put(Exchange exchange, byte[] key, int from, int ack) throws IOException;

    /** Serves a {@code DELETE}: 202, or 504. */
    void delete(Exchange exchange, byte[] key, int from, int ack) throws IOException;

    /**
     * Takes note that another node has started, and responds with 200.
     *
     * @param node its address
     */
    default void started(Exchange exchange, String node) throws IOException {
        throw new BadRequestException("This server is not part of a cluster. Start it with --topology and --self.");
    }

    /**
     * The entries of this node in order, from {@code start}, included, to {@code end}, excluded.
     *
     * @param end null for no end
     */
    Cursor range(byte[] start, byte[] end);

    /** The same as the body of a response; another node gets its own form. */
    default Body rangeBody(Exchange exchange, byte[] start, byte[] end) {
        return new RangeBody(range(start, end), false);
    }

    /**
     * Responds with the entries of all nodes in order: 200, or 504 if more than {@code from - ack} nodes do not respond.
     *
     * @param end null for no end
     */
    default void clusterRange(Exchange exchange, byte[] start, byte[] end, int from, int ack) throws IOException {
        exchange.respondStream(rangeBody(exchange, start, end));
    }
}
