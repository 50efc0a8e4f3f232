package lab.server.cluster;

import java.io.IOException;
import lab.server.api.Exchange;
import lab.server.api.Responder;

/** The records that the replicas have for one key; the freshest is the response. */
final class ReadGathering extends Gathering {

    private final byte[] key;
    /** What each replica responded, if the ones that are behind are to be repaired; else null. */
    private final byte[][] records;
    private final boolean[] responded;
    private byte[] freshest;

    /**
     * @param nodes  positions of the replicas
     * @param repair whether to write the freshest record to the replicas that have an older one
     */
    ReadGathering(Exchange exchange, Responder responder, int ack, byte[] key, int[] nodes, Replicas replicas,
            boolean repair) {
        super(exchange, responder, replicas, nodes, ack);
        this.key = key;
        this.records = repair ? new byte[nodes.length][] : null;
        this.responded = repair ? new boolean[nodes.length] : null;
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
        if (records != null) {
            records[at] = record;
            responded[at] = true;
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
    void respond(Exchange to) throws IOException {
        byte[] record;
        synchronized (this) {
            record = freshest;
        }
        ReplicatedEntities.respondRecord(to, record);
    }

    @Override
    void settled() {
        if (records == null || freshest == null) {
            return;
        }
        for (int at = 0; at < records.length; at++) {
            if (responded[at] && Replicas.version(records[at]) < Replicas.version(freshest)) {
                replicas().repair(nodes()[at], key, freshest);
            }
        }
    }
}
