package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The replicas of all keys as this node reaches them: its own store, and the other nodes. */
final class Replicas {

    private static final Logger LOG = LoggerFactory.getLogger(Replicas.class);

    private final VersionedStore store;
    private final HybridClock clock;
    private final Peer[] peers;
    private final int self;
    private final LongAdder repairs = new LongAdder();

    /**
     * @param peers by position; null at the position of this node
     */
    Replicas(VersionedStore store, HybridClock clock, Peer[] peers, int self) {
        this.store = store;
        this.clock = clock;
        this.peers = peers.clone();
        this.self = self;
    }

    VersionedStore store() {
        return store;
    }

    HybridClock clock() {
        return clock;
    }

    boolean isSelf(int node) {
        return node == self;
    }

    Peer peer(int node) {
        return peers[node];
    }

    /** Records written to replicas because a read found them behind. */
    long repairs() {
        return repairs.sum();
    }

    /** Writes a record to a replica that is behind, without waiting for it. */
    void repair(int node, byte[] key, byte[] record) {
        repairs.increment();
        if (isSelf(node)) {
            try {
                store.put(key, record);
            } catch (RuntimeException e) {
                LOG.error("A record could not be repaired", e);
            }
        } else {
            peers[node].send(new Repair(key, record));
        }
    }

    /** Version of a record, or lower than all of them if there is none. */
    static long version(byte[] record) {
        return record == null ? Long.MIN_VALUE : StampedRecord.version(MemorySegment.ofArray(record));
    }

    /** A failure to repair is counted by the peer and needs nothing else: the next read repairs. */
    private static final class Repair extends PeerCall {

        private static final long serialVersionUID = 1L;

        Repair(byte[] key, byte[] record) {
            super(Kind.PUT, key, record);
        }

        @Override
        void answered(byte[] found) {
            // Nobody waits for it.
        }

        @Override
        void failed(PeerFailure failure) {
            // See above.
        }
    }
}
