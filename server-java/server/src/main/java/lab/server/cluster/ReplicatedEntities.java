package lab.server.cluster;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import lab.server.api.BadRequestException;
import lab.server.api.Body;
import lab.server.api.Entities;
import lab.server.api.Exchange;
import lab.server.api.RangeBody;
import lab.server.api.Responder;
import lab.server.api.Status;
import lab.server.api.ValueBody;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.ValueReader;

/**
 * The entries of a cluster. Whichever node a client asks coordinates: it stamps the version, asks the replicas of the key
 * in parallel and responds when enough of them have. Requests of another coordinator are served from the own store alone.
 */
final class ReplicatedEntities implements Entities {

    private final Replicas replicas;
    private final ClusterRanges ranges;
    private final Placement placement;
    private final Responder responder;
    private final int nodes;
    private final int defaultFrom;
    private final int defaultAck;
    private final boolean readRepair;
    private final LongAdder local = new LongAdder();
    private final LongAdder proxied = new LongAdder();
    private final LongAdder replicated = new LongAdder();
    private final LongAdder internal = new LongAdder();

    /**
     * @param defaultFrom replicas of a request that does not say it
     * @param defaultAck  replicas that must have responded, for a request that does not say how many are asked
     */
    ReplicatedEntities(Replicas replicas, ClusterRanges ranges, Placement placement, Responder responder, int nodes,
            int defaultFrom, int defaultAck, boolean readRepair) {
        this.replicas = replicas;
        this.ranges = ranges;
        this.placement = placement;
        this.responder = responder;
        this.nodes = nodes;
        this.defaultFrom = defaultFrom;
        this.defaultAck = defaultAck;
        this.readRepair = readRepair;
    }

    @Override
    public int nodes() {
        return nodes;
    }

    @Override
    public int defaultFrom() {
        return defaultFrom;
    }

    @Override
    public int defaultAck(int from) {
        return from == defaultFrom ? defaultAck : from / 2 + 1;
    }

    @Override
    public void get(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        if (exchange.internal()) {
            internal.increment();
            respondLocal(exchange, key, true);
            return;
        }
        if (from > 1) {
            replicated.increment();
            int[] at = placement.replicas(key, from);
            new ReadGathering(exchange, responder, ack, key, at, replicas, readRepair).start();
            return;
        }
        int owner = placement.owner(key);
        if (replicas.isSelf(owner)) {
            local.increment();
            respondLocal(exchange, key, false);
        } else {
            proxied.increment();
            int[] at = {owner};
            new ReadGathering(exchange, responder, 1, key, at, replicas, false).start();
        }
    }

    @Override
    public void put(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        if (exchange.internal()) {
            internal.increment();
            store(exchange, key, Bytes.array(exchange.body()));
        } else {
            write(exchange, key, StampedRecord.ofValue(replicas.stamp(), exchange.body()), from, ack, Status.CREATED);
        }
    }

    /** Stores a record for another node, or responds with the version for which it is refused. */
    private void store(Exchange exchange, byte[] key, byte[] record) throws IOException {
        long version = Replicas.version(record);
        if (!HybridClock.isPossible(version)) {
            throw new BadRequestException("The version " + version + " is beyond the last one that can be stamped; the "
                    + "clock of node " + HybridClock.node(version) + " is wrong. Set it.");
        }
        replicas.observe(record);
        // Mostly the node that stamped it has sent it; read repair passes on the records of others, which does no harm.
        replicas.heard(HybridClock.node(version));
        long held = replicas.store().put(key, record);
        if (held == version) {
            exchange.respond(Status.CREATED);
        } else {
            exchange.respondValue(MemorySegment.ofArray(StampedRecord.ofTombstone(held)));
        }
    }

    @Override
    public void delete(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        write(exchange, key, StampedRecord.ofTombstone(replicas.stamp()), from, ack, Status.ACCEPTED);
    }

    private void write(Exchange exchange, byte[] key, byte[] record, int from, int ack, Status success)
            throws IOException {
        if (from > 1) {
            replicated.increment();
            new WriteGathering(exchange, responder, replicas, placement.replicas(key, from), ack, key, record, success)
                    .start();
            return;
        }
        int owner = placement.owner(key);
        if (replicas.isSelf(owner)) {
            local.increment();
            storeHere(key, record);
            exchange.respond(success);
        } else {
            proxied.increment();
            new WriteGathering(exchange, responder, replicas, new int[] {owner}, 1, key, record, success).start();
        }
    }

    /** Stores a record of which this node has the only replica, stamped again if that has a newer version. */
    private void storeHere(byte[] key, byte[] record) {
        long held = replicas.store().put(key, record);
        if (held != Replicas.version(record)) {
            byte[] newer = StampedRecord.ofTombstone(held);
            replicas.observe(newer);
            // Refused once more, it has lost against a write that came in the meantime.
            replicas.store().put(key, StampedRecord.restamped(record, replicas.stampAgain()));
        }
    }

    @Override
    public void started(Exchange exchange, String node) throws IOException {
        if (!replicas.started(node)) {
            throw new BadRequestException(node + " is not another node of this cluster. Start all nodes with the same "
                    + "--topology.");
        }
        exchange.respond(Status.OK);
    }

    @Override
    public Cursor range(byte[] start, byte[] end) {
        return new ValueCursor(replicas.store().records(start, end));
    }

    @Override
    public Body rangeBody(Exchange exchange, byte[] start, byte[] end) {
        return exchange.internal() ? new RecordsBody(replicas.store().records(start, end))
                : new RangeBody(range(start, end), false);
    }

    @Override
    public void clusterRange(Exchange exchange, byte[] start, byte[] end, int from, int ack) throws IOException {
        ranges.respond(exchange, start, end, from, ack);
    }

    /** Sends a client the value of a record, or 404 if it is none or a tombstone. */
    static void respondRecord(Exchange exchange, byte[] record) throws IOException {
        MemorySegment segment = record == null ? null : MemorySegment.ofArray(record);
        if (segment == null || StampedRecord.isTombstone(segment)) {
            exchange.respond(Status.NOT_FOUND);
        } else {
            exchange.respondValue(StampedRecord.value(segment));
        }
    }

    /**
     * Responds from the own store.
     *
     * @param whole whether to respond with the whole record, as another node wants it
     */
    private void respondLocal(Exchange exchange, byte[] key, boolean whole) throws IOException {
        RecordResponse response = new RecordResponse(exchange, whole);
        if (!replicas.store().get(key, response)) {
            exchange.respond(Status.NOT_FOUND);
        } else if (response.large) {
            Cursor records = replicas.store().records(key, Arrays.copyOf(key, key.length + 1));
            ValueBody.respond(exchange, whole ? records : new ValueCursor(records));
        }
    }

    /** Requests by where they were served, for {@code /v0/status}. */
    Map<String, Object> status() {
        long here = local.sum();
        long elsewhere = proxied.sum();
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("local", here);
        status.put("proxied", elsewhere);
        status.put("proxied_share", here + elsewhere == 0 ? null : elsewhere / (double) (here + elsewhere));
        status.put("replicated", replicated.sum());
        status.put("internal", internal.sum());
        status.put("read_repairs", replicas.repairs());
        status.put("stamped_again", replicas.restamps());
        return status;
    }

    /** Responds with a small record on the spot, while it is pinned. */
    private static final class RecordResponse implements ValueReader<IOException> {

        private final Exchange exchange;
        private final boolean whole;
        private boolean large;

        RecordResponse(Exchange exchange, boolean whole) {
            this.exchange = exchange;
            this.whole = whole;
        }

        @Override
        public void accept(MemorySegment record) throws IOException {
            if (record.byteSize() > ValueBody.STREAM_ABOVE_BYTES) {
                large = true;
            } else if (whole) {
                exchange.respondValue(record);
            } else if (StampedRecord.isTombstone(record)) {
                exchange.respond(Status.NOT_FOUND);
            } else {
                exchange.respondValue(StampedRecord.value(record));
            }
        }
    }
}
