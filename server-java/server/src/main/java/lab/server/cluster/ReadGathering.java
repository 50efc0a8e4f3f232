package lab.server.cluster;

import java.io.IOException;
import lab.server.api.Answering;
import lab.server.api.Exchange;

/** The records that the replicas have for one key; the freshest is the answer. */
final class ReadGathering extends Gathering {

    private final byte[] key;
    /** What each replica answered, if the ones that are behind are to be repaired; else null. */
    private final byte[][] found;
    private final boolean[] answered;
    private byte[] freshest;

    /**
     * @param nodes  positions of the replicas
     * @param repair whether to write the freshest record to the replicas that have an older one
     */
    ReadGathering(Exchange exchange, Answering answering, int ack, byte[] key, int[] nodes, Replicas replicas,
            boolean repair) {
        super(exchange, answering, replicas, nodes, ack);
        this.key = key;
        this.found = repair ? new byte[nodes.length][] : null;
        this.answered = repair ? new boolean[nodes.length] : null;
    }

    @Override
    PeerCall call(int at) {
        return new Call(PeerCall.Kind.GET, key, null, at);
    }

    @Override
    byte[] local(VersionedStore store) {
        return store.get(key);
    }

    @Override
    boolean take(int at, byte[] record) {
        if (found != null) {
            found[at] = record;
            answered[at] = true;
        }
        if (Replicas.version(record) > Replicas.version(freshest)) {
            freshest = record;
        }
        return true;
    }

    @Override
    void startAgain() {
        throw new IllegalStateException("A read takes whatever it finds.");
    }

    @Override
    void answer(Exchange to) throws IOException {
        byte[] record;
        synchronized (this) {
            record = freshest;
        }
        ReplicatedEntities.respondRecord(to, record);
    }

    @Override
    void settled() {
        if (found == null || freshest == null) {
            return;
        }
        for (int at = 0; at < found.length; at++) {
            if (answered[at] && Replicas.version(found[at]) < Replicas.version(freshest)) {
                replicas().repair(nodes()[at], key, freshest);
            }
        }
    }
}
