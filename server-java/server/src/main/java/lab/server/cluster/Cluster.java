package lab.server.cluster;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import lab.server.api.Entities;
import lab.server.api.Responder;
import lab.storage.Storage;

/** This node's part of a cluster: its replica, and its view of the other nodes. */
public final class Cluster implements AutoCloseable {

    /** What a node keeps with each value. */
    public static final int STAMP_BYTES = StampedRecord.PREFIX_BYTES;

    private final Topology topology;
    private final ClusterSettings settings;
    private final PeerTransport transport;
    private final ScheduledExecutorService prober;
    private final List<Peer> peers = new ArrayList<>();
    private final Replicas replicas;
    private final ClusterRanges ranges;
    private final ReplicatedEntities entities;

    /**
     * Asks no other node before a request needs it, so nodes may start in any order.
     *
     * @param storage   holds records, no plain values; closed by the caller, after this object
     * @param mark      file in which the node's clock keeps its place over a restart, or null if the store keeps nothing
     * @param responder responds where a handler fails
     */
    public Cluster(Topology topology, ClusterSettings settings, Storage storage, Path mark,
            Responder responder) {
        this.topology = topology;
        this.settings = settings;
        this.transport = settings.client().open(settings);
        this.prober = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("peer-probe")
                .factory());
        Peer[] byPosition = new Peer[topology.size()];
        for (int node = 0; node < byPosition.length; node++) {
            if (node != topology.self()) {
                String url = topology.nodes().get(node);
                byPosition[node] = new Peer(url, transport.to(url), prober, settings.peerRetryMs());
                peers.add(byPosition[node]);
            }
        }
        long offsetMicros = TimeUnit.MILLISECONDS.toMicros(settings.clockOffsetMs());
        HybridClock clock = new HybridClock(topology.self(), () -> HybridClock.wallMicros() + offsetMicros,
                mark == null ? ClockMark.none() : ClockMark.open(mark));
        replicas = new Replicas(new VersionedStore(storage), clock, byPosition, topology.self());
        ranges = new ClusterRanges(topology, settings, replicas.store(), responder);
        entities = new ReplicatedEntities(replicas, ranges, settings.hashing().place(topology.nodes()), responder,
                topology.size(), settings.from(), settings.ack(), settings.readRepair());
    }

    /** What serves the requests of clients and of other nodes. */
    public Entities entities() {
        return entities;
    }

    /** Announces this node to all others. Called when it accepts requests, before it says that it is ready. */
    public void announce() {
        Announcement.send(topology.selfUrl(), peers, settings.peerTimeoutMs());
    }

    /** What does not change: the nodes and how they work, for the ready line. */
    public Map<String, Object> facts() {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("self", topology.selfUrl());
        facts.put("topology", topology.nodes());
        facts.put("hashing", settings.hashing().toString());
        facts.put("replication_from", settings.from());
        facts.put("replication_ack", settings.ack());
        facts.put("read_repair", settings.readRepair());
        facts.put("client", settings.client().toString());
        facts.put("client_lock", settings.clientLock());
        facts.put("unused_response", settings.unusedResponse());
        facts.put("peer_threads", settings.peerThreads());
        facts.put("peer_timeout_ms", settings.peerTimeoutMs());
        facts.put("peer_retry_ms", settings.peerRetryMs());
        facts.put("clock_offset_ms", settings.clockOffsetMs());
        return facts;
    }

    /** What changes: where requests were served, and the other nodes as this one sees them, for {@code /v0/status}. */
    public Map<String, Object> status() {
        Map<String, Object> status = facts();
        status.put("served", entities.status());
        status.put("clock_ahead_ms", replicas.aheadMs());
        status.put("peers", peers.stream().map(Peer::status).toList());
        return status;
    }

    /** Ends all calls to other nodes. Called when no request comes any more, before the store is closed. */
    @Override
    public void close() {
        ranges.close();
        prober.shutdownNow();
        transport.close();
        replicas.close();
    }
}
