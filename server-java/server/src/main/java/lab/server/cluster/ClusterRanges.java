package lab.server.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import lab.server.api.Exchange;
import lab.server.api.RangeBody;
import lab.server.api.Responder;
import lab.server.api.Status;
import lab.storage.Cursor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ranges over all nodes: each node is asked for its records, and what they send is merged as it is read. */
final class ClusterRanges implements AutoCloseable {

    /** Each holds a snapshot and a connection on every node, and some buffers here. */
    private static final int MAX_RANGES = 64;
    /** In addition to the time-out for another node, which a range may be waiting for. */
    private static final int STOP_TIMEOUT_MS = 10_000;
    private static final Logger LOG = LoggerFactory.getLogger(ClusterRanges.class);

    private final Topology topology;
    private final ClusterSettings settings;
    private final VersionedStore store;
    private final Responder responder;
    private final Semaphore room = new Semaphore(MAX_RANGES);

    /**
     * @param store     records of this node
     * @param responder responds where a handler fails
     */
    ClusterRanges(Topology topology, ClusterSettings settings, VersionedStore store, Responder responder) {
        this.topology = topology;
        this.settings = settings;
        this.store = store;
        this.responder = responder;
    }

    /** Responds on a thread of its own, which may wait for other nodes as no other may. */
    void respond(Exchange exchange, byte[] start, byte[] end, int from, int ack) throws IOException {
        if (!room.tryAcquire()) {
            exchange.respond(Status.UNAVAILABLE, MAX_RANGES + " ranges over all nodes are under way. Come again later.");
            return;
        }
        Thread.ofVirtual().name("cluster-range").start(() -> {
            try {
                responder.respondLater(exchange, () -> merge(exchange, start, end, from, ack));
            } finally {
                room.release();
            }
        });
    }

    private void merge(Exchange exchange, byte[] start, byte[] end, int from, int ack) throws IOException {
        List<Cursor> nodes = new ArrayList<>();
        try {
            int spare = from - ack - (topology.size() - open(start, end, nodes));
            if (spare < 0) {
                exchange.respond(Status.TOO_FEW_REPLICAS, "Only " + nodes.size() + " of " + topology.size()
                        + " nodes respond; a range over all nodes needs all but " + (from - ack) + ".");
                return;
            }
            exchange.respondStream(new RangeBody(new ValueCursor(new MergedRecords(nodes, spare)), true));
        } finally {
            nodes.forEach(Cursor::close);
        }
    }

    /** Waits for the ranges that are under way, whose connections are closed by now: they read the store. */
    @Override
    public void close() {
        try {
            if (!room.tryAcquire(MAX_RANGES, settings.peerTimeoutMs() + STOP_TIMEOUT_MS, TimeUnit.MILLISECONDS)) {
                LOG.warn("A range over all nodes did not end in time");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Opens the ranges of all nodes that respond, and returns how many these are. */
    private int open(byte[] start, byte[] end, List<Cursor> nodes) {
        String target = PeerRequest.rangeTarget(start, end);
        for (int node = 0; node < topology.size(); node++) {
            if (node == topology.self()) {
                nodes.add(store.records(start, end));
                continue;
            }
            try {
                nodes.add(new PeerRecords(topology.nodes().get(node), target, settings.secret(),
                        settings.peerTimeoutMs()));
            } catch (IOException e) {
                LOG.debug("A node is left out of a range", e);
            }
        }
        return nodes.size();
    }
}
