package lab.server.cluster;

import java.io.IOException;
import lab.server.api.Exchange;
import lab.server.api.Responder;
import lab.server.api.Status;

/**
 * One record on its way to its replicas. A replica that has a newer version refuses the record and says which version that
 * is. Then the record is stamped again, above all versions that were seen, and sent to all replicas anew, as long as the
 * client has no response: to acknowledge it as it is could mean to acknowledge a write that loses against an earlier one.
 *
 * <p>A replica that refuses it once more has got another write in the meantime, concurrent with this one, so it counts as
 * one that took it: of two concurrent writes either may be the last. So each replica makes at most one new stamp
 * necessary, and writers that compete for one key never turn each other away.
 */
final class WriteGathering extends Gathering {

    private final byte[] key;
    private final byte[] record;
    private final Status success;
    /** Replicas that refused it before this stamp; null if there is none. */
    private final boolean[] refused;
    private boolean[] refusedNow;

    WriteGathering(Exchange exchange, Responder responder, Replicas replicas, int[] nodes, int ack, byte[] key,
            byte[] record, Status success) {
        this(exchange, responder, replicas, nodes, ack, key, record, success, null);
    }

    private WriteGathering(Exchange exchange, Responder responder, Replicas replicas, int[] nodes, int ack, byte[] key,
            byte[] record, Status success, boolean[] refused) {
        super(exchange, responder, replicas, nodes, ack);
        this.key = key;
        this.record = record;
        this.success = success;
        this.refused = refused;
    }

    @Override
    PeerCall call(int at) {
        return new Call(PeerCall.Kind.PUT, key, record, at);
    }

    @Override
    byte[] local(VersionedStore store) {
        long held = store.put(key, record);
        return held == Replicas.version(record) ? null : StampedRecord.ofTombstone(held);
    }

    @Override
    boolean take(int at, byte[] newer) {
        if (newer == null || refused != null && refused[at]) {
            return true;
        }
        refusedNow = refused == null ? new boolean[nodes().length] : refused.clone();
        refusedNow[at] = true;
        return false;
    }

    @Override
    void startAgain() {
        boolean[] before;
        synchronized (this) {
            before = refusedNow;
        }
        byte[] restamped = StampedRecord.restamped(record, replicas().stampAgain());
        new WriteGathering(exchange(), responder(), replicas(), nodes(), ack(), key, restamped, success, before)
                .startElsewhere();
    }

    @Override
    void respond(Exchange to) throws IOException {
        to.respond(success);
    }

    @Override
    void settled() {
        // Nothing is left to do.
    }
}
