package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The replicas of all keys as this node reaches them: its own store, and the other nodes. */
final class Replicas implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Replicas.class);
    private static final int QUEUED_WORK = 4096;
    private static final int IDLE_S = 10;

    private final VersionedStore store;
    private final HybridClock clock;
    private final Peer[] peers;
    private final int self;
    /** Works on the store for threads that must not wait for it, such as those that read what other nodes respond. */
    private final ThreadPoolExecutor worker;
    private final LongAdder repairs = new LongAdder();
    private final LongAdder restamps = new LongAdder();

    /**
     * @param peers by position; null at the position of this node
     */
    Replicas(VersionedStore store, HybridClock clock, Peer[] peers, int self) {
        this.store = store;
        this.clock = clock;
        this.peers = peers.clone();
        this.self = self;
        this.worker = new ThreadPoolExecutor(1, 1, IDLE_S, TimeUnit.SECONDS, new ArrayBlockingQueue<>(QUEUED_WORK),
                Thread.ofPlatform().daemon().name("own-replica").factory(), new ThreadPoolExecutor.AbortPolicy());
        this.worker.allowCoreThreadTimeOut(true);
    }

    VersionedStore store() {
        return store;
    }

    /** A version for a new record. */
    long stamp() {
        return clock.next();
    }

    /** A version for a record that a replica has refused, above the one that it was refused for. */
    long stampAgain() {
        restamps.increment();
        return clock.next();
    }

    /** Moves the clock past the version of a record, unless it is null. */
    void observe(byte[] record) {
        if (record != null) {
            clock.observe(version(record));
        }
    }

    boolean isSelf(int node) {
        return node == self;
    }

    Peer peer(int node) {
        return peers[node];
    }

    /** Takes note that a node stores records here, by its number. */
    void heard(int node) {
        if (node < peers.length && peers[node] != null) {
            peers[node].heard();
        }
    }

    /**
     * Takes back a node that has just started.
     *
     * @return false if it is none of this cluster
     */
    boolean started(String url) {
        for (Peer peer : peers) {
            if (peer != null && peer.url().equals(url)) {
                peer.restore();
                return true;
            }
        }
        return false;
    }

    /** Records written to replicas because a read found them behind. */
    long repairs() {
        return repairs.sum();
    }

    /** Records stamped again because a replica had a newer version. */
    long restamps() {
        return restamps.sum();
    }

    /** How far the versions are ahead of the wall clock. */
    long aheadMs() {
        return clock.aheadMs();
    }

    /**
     * Has work on the own store done by another thread.
     *
     * @return false if too much of it waits already
     */
    boolean later(Runnable work) {
        try {
            worker.execute(work);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Writes a record to a replica that is behind, without waiting for it. What cannot be written, the next read repairs. */
    void repair(int node, byte[] key, byte[] record) {
        repairs.increment();
        if (isSelf(node)) {
            later(() -> {
                try {
                    store.put(key, record);
                } catch (RuntimeException e) {
                    LOG.error("A record could not be repaired", e);
                }
            });
        } else {
            peers[node].send(new Repair(key, record));
        }
    }

    /** Version of a record, or lower than all of them if there is none. */
    static long version(byte[] record) {
        return record == null ? Long.MIN_VALUE : StampedRecord.version(MemorySegment.ofArray(record));
    }

    /** Ends the work on the store that is under way and keeps the place of the clock. */
    @Override
    public void close() {
        worker.close();
        clock.close();
    }

    /** A failure to repair is counted by the peer and needs nothing else: the next read repairs. */
    private static final class Repair extends PeerCall {

        private static final long serialVersionUID = 1L;

        Repair(byte[] key, byte[] record) {
            super(Kind.PUT, key, record);
        }

        @Override
        void responded(byte[] stored) {
            // Nobody waits for it.
        }

        @Override
        void failed(PeerFailure failure) {
            // See above.
        }
    }
}
