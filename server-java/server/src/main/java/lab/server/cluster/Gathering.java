package lab.server.cluster;

import java.io.IOException;
import lab.server.api.Answering;
import lab.server.api.Exchange;
import lab.server.api.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The answers of the replicas to one request. Answers its exchange as soon as enough replicas have answered, or as soon as
 * too many have failed; the others go on.
 */
abstract class Gathering {

    private static final Logger LOG = LoggerFactory.getLogger(Gathering.class);

    private final Exchange exchange;
    private final Answering answering;
    private final int from;
    private final int ack;
    private int succeeded;
    private int failed;

    /**
     * @param from replicas asked
     * @param ack  replicas that must have answered
     */
    Gathering(Exchange exchange, Answering answering, int from, int ack) {
        this.exchange = exchange;
        this.answering = answering;
        this.from = from;
        this.ack = ack;
    }

    /**
     * Asks all replicas, the others first: they work while this node does its own part.
     *
     * @param nodes positions of the replicas
     */
    final void start(Replicas replicas, int[] nodes) {
        boolean local = false;
        for (int at = 0; at < nodes.length; at++) {
            if (replicas.isSelf(nodes[at])) {
                local = true;
            } else {
                replicas.peer(nodes[at]).send(call(at));
            }
        }
        if (local) {
            local(replicas, nodes);
        }
    }

    private void local(Replicas replicas, int[] nodes) {
        for (int at = 0; at < nodes.length; at++) {
            if (replicas.isSelf(nodes[at])) {
                byte[] found;
                try {
                    found = local(replicas.store());
                } catch (RuntimeException e) {
                    LOG.error("The replica on this node failed", e);
                    failed();
                    return;
                }
                succeeded(at, found);
            }
        }
    }

    /** The call to the replica at a position of the list of nodes. */
    abstract PeerCall call(int at);

    /** The part of this node, if it is a replica itself; what it finds. */
    abstract byte[] local(VersionedStore store);

    /** Takes what a replica answered. Called under the lock of this object. */
    abstract void take(int at, byte[] found);

    /** Answers the exchange, when enough replicas have answered. Called once. */
    abstract void answer(Exchange to) throws IOException;

    /** Called once, when every replica has answered or failed. */
    abstract void settled();

    final void succeeded(int at, byte[] found) {
        boolean enough;
        boolean last;
        synchronized (this) {
            take(at, found);
            succeeded++;
            enough = succeeded == ack;
            last = succeeded + failed == from;
        }
        if (enough) {
            answering.answerLater(exchange, () -> answer(exchange));
        }
        if (last) {
            settled();
        }
    }

    final void failed() {
        boolean impossible;
        boolean last;
        int answered;
        synchronized (this) {
            failed++;
            impossible = failed == from - ack + 1;
            last = succeeded + failed == from;
            answered = succeeded;
        }
        if (impossible) {
            answering.answerLater(exchange, () -> exchange.respond(Status.TOO_FEW_REPLICAS, "Of " + from
                    + " replicas " + ack + " must answer, but no more than " + (ack - 1) + " can; " + answered
                    + " did. GET /v0/status says which nodes are set aside."));
        }
        if (last) {
            settled();
        }
    }

    /** A call of a gathering. */
    final class Call extends PeerCall {

        private static final long serialVersionUID = 1L;

        private final int at;

        Call(Kind kind, byte[] key, byte[] record, int at) {
            super(kind, key, record);
            this.at = at;
        }

        @Override
        void answered(byte[] found) {
            Gathering.this.succeeded(at, found);
        }

        @Override
        void failed(PeerFailure failure) {
            Gathering.this.failed();
        }
    }
}
