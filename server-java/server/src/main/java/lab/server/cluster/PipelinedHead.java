package lab.server.cluster;

import lab.server.api.ClusterSecret;
import lab.server.api.Exchange;

/** Heads of the requests of {@link PipelinedConnection}, as bytes, without a text in between. */
final class PipelinedHead {

    private static final byte[] GET = PeerRequest.ascii("GET ");
    private static final byte[] PUT = PeerRequest.ascii("PUT ");
    private static final byte[] END_OF_HEAD = PeerRequest.ascii("\r\n\r\n");
    private static final int MAX_DIGITS = 10;
    private static final int TEN = 10;

    private final byte[] end;
    private final byte[] endLength;

    /**
     * @param url    of the node that is asked
     * @param secret proves that a node sends the request
     */
    PipelinedHead(String url, ClusterSecret secret) {
        String proof = " HTTP/1.1\r\nHost: " + Topology.host(url) + ':' + Topology.port(url) + "\r\n" + Exchange.INTERNAL_FIELD + ": " + secret.fieldValue() + "\r\n";
        end = PeerRequest.ascii(proof + "\r\n");
        endLength = PeerRequest.ascii(proof + "Content-Length: ");
    }

    /** The head has at most this many bytes. */
    int maxBytes(PeerCall call) {
        return PUT.length + PeerRequest.maxTargetBytes(call) + endLength.length + MAX_DIGITS + END_OF_HEAD.length;
    }

    /**
     * Writes a head.
     *
     * @return position after it
     */
    int put(PeerCall call, byte[] out, int at) {
        boolean put = call.kind() == PeerCall.Kind.PUT;
        int next = PeerRequest.put(put ? PUT : GET, out, at);
        next = PeerRequest.putTarget(call, out, next);
        if (!put) {
            return PeerRequest.put(end, out, next);
        }
        next = PeerRequest.put(endLength, out, next);
        next = putNumber(call.record().length, out, next);
        return PeerRequest.put(END_OF_HEAD, out, next);
    }

    private static int putNumber(int number, byte[] out, int at) {
        int end = at + 1;
        for (int rest = number / TEN; rest > 0; rest /= TEN) {
            end++;
        }
        int rest = number;
        for (int i = end - 1; i >= at; i--) {
            out[i] = (byte) ('0' + rest % TEN);
            rest /= TEN;
        }
        return end;
    }
}
