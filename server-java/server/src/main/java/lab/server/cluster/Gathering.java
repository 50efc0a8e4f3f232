package lab.server.cluster;

import java.io.IOException;
import lab.server.api.Exchange;
import lab.server.api.Responder;
import lab.server.api.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The responses of the replicas to one request. Responds to its exchange as soon as enough replicas have responded, or as
 * soon as too many have failed; the others go on.
 */
abstract class Gathering {

    private static final Logger LOG = LoggerFactory.getLogger(Gathering.class);

    private final Exchange exchange;
    private final Responder responder;
    private final Replicas replicas;
    private final int[] nodes;
    private final int ack;
    private int succeeded;
    private int failed;
    private boolean superseded;

    /**
     * @param nodes positions of the replicas that are asked
     * @param ack   replicas that must have responded
     */
    Gathering(Exchange exchange, Responder responder, Replicas replicas, int[] nodes, int ack) {
        this.exchange = exchange;
        this.responder = responder;
        this.replicas = replicas;
        this.nodes = nodes;
        this.ack = ack;
    }

    final Exchange exchange() {
        return exchange;
    }

    final Responder responder() {
        return responder;
    }

    final Replicas replicas() {
        return replicas;
    }

    final int[] nodes() {
        return nodes;
    }

    final int ack() {
        return ack;
    }

    /** Asks all replicas, the others first: they work while this thread does the part of this node. */
    final void start() {
        int own = askOthers();
        if (own >= 0) {
            local(own);
        }
    }

    /** Asks all replicas from a thread that must not wait for the store of this node. */
    final void startElsewhere() {
        int own = askOthers();
        if (own >= 0 && !replicas.later(() -> local(own))) {
            failed();
        }
    }

    /** Calls the other nodes; the place of this node among the replicas, or -1. */
    private int askOthers() {
        int own = -1;
        for (int at = 0; at < nodes.length; at++) {
            if (replicas.isSelf(nodes[at])) {
                own = at;
            } else {
                replicas.peer(nodes[at]).send(call(at));
            }
        }
        return own;
    }

    private void local(int at) {
        byte[] record;
        try {
            record = local(replicas.store());
        } catch (RuntimeException e) {
            LOG.error("The replica on this node failed", e);
            failed();
            return;
        }
        succeeded(at, record);
    }

    /** The call to the replica at a position of the list of nodes. */
    abstract PeerCall call(int at);

    /** The part of this node, if it is a replica itself; what it finds, as {@link PeerCall#responded} gets it. */
    abstract byte[] local(VersionedStore store);

    /**
     * Takes what a replica responded. Called under the lock of this object.
     *
     * @return false if the replicas must be asked again, by {@link #startAgain}
     */
    abstract boolean take(int at, byte[] record);

    /** Asks again in another way, once, while the exchange has no response; this object is not used any more. */
    abstract void startAgain();

    /** Responds to the exchange, when enough replicas have responded. Called once. */
    abstract void respond(Exchange to) throws IOException;

    /** Called once, when every replica has responded or failed. */
    abstract void settled();

    final void succeeded(int at, byte[] record) {
        replicas.observe(record);
        boolean startsAgain;
        boolean enough;
        boolean last;
        synchronized (this) {
            if (superseded) {
                return;
            }
            superseded = !take(at, record) && succeeded < ack && failed <= nodes.length - ack;
            succeeded++;
            enough = !superseded && succeeded == ack;
            last = !superseded && succeeded + failed == nodes.length;
            startsAgain = superseded;
        }
        if (startsAgain) {
            responder.respondLater(exchange, this::startAgain);
        }
        if (enough) {
            responder.respondLater(exchange, () -> respond(exchange));
        }
        if (last) {
            settled();
        }
    }

    final void failed() {
        boolean impossible;
        boolean last;
        int responded;
        synchronized (this) {
            if (superseded) {
                return;
            }
            failed++;
            impossible = failed == nodes.length - ack + 1;
            last = succeeded + failed == nodes.length;
            responded = succeeded;
        }
        if (impossible) {
            responder.respondLater(exchange, () -> exchange.respond(Status.TOO_FEW_REPLICAS, "Of " + nodes.length
                    + " replicas " + ack + " must respond, but no more than " + (ack - 1) + " can; " + responded
                    + " did. GET /v0/status says which nodes are away."));
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
        void responded(byte[] stored) {
            Gathering.this.succeeded(at, stored);
        }

        @Override
        void failed(PeerFailure failure) {
            Gathering.this.failed();
        }
    }
}
