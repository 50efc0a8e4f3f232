package lab.server.cluster;

import java.io.IOException;
import lab.server.api.Answering;
import lab.server.api.Exchange;
import lab.server.api.Status;

/** One record on its way to its replicas. */
final class WriteGathering extends Gathering {

    private final byte[] key;
    private final byte[] record;
    private final Status success;

    WriteGathering(Exchange exchange, Answering answering, int from, int ack, byte[] key, byte[] record,
            Status success) {
        super(exchange, answering, from, ack);
        this.key = key;
        this.record = record;
        this.success = success;
    }

    @Override
    PeerCall call(int at) {
        return new Call(PeerCall.Kind.PUT, key, record, at);
    }

    @Override
    byte[] local(VersionedStore store) {
        // A newer version that is there already wins; then this one is stored as far as it ever will be.
        store.put(key, record);
        return null;
    }

    @Override
    void take(int at, byte[] found) {
        // A write finds nothing.
    }

    @Override
    void answer(Exchange to) throws IOException {
        to.respond(success);
    }

    @Override
    void settled() {
        // Nothing is left to do.
    }
}
