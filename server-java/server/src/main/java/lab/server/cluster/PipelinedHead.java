package lab.server.cluster;

/** Heads of the requests of {@link PipelinedConnection}, as bytes, without a text in between. */
final class PipelinedHead {

    private static final byte[] GET = PeerRequest.ascii("GET ");
    private static final byte[] PUT = PeerRequest.ascii("PUT ");
    private static final byte[] END = PeerRequest.ascii(" HTTP/1.1\r\n" + PeerRequest.MARK_NAME + ": "
            + PeerRequest.MARK_VALUE + "\r\n\r\n");
    private static final byte[] END_LENGTH = PeerRequest.ascii(" HTTP/1.1\r\n" + PeerRequest.MARK_NAME + ": "
            + PeerRequest.MARK_VALUE + "\r\nContent-Length: ");
    private static final byte[] END_OF_HEAD = PeerRequest.ascii("\r\n\r\n");
    private static final int MAX_DIGITS = 10;
    private static final int TEN = 10;

    private PipelinedHead() {
    }

    /** The head has at most this many bytes. */
    static int maxBytes(PeerCall call) {
        return PUT.length + PeerRequest.maxTargetBytes(call) + END_LENGTH.length + MAX_DIGITS + END_OF_HEAD.length;
    }

    /**
     * Writes a head.
     *
     * @return position after it
     */
    static int put(PeerCall call, byte[] out, int at) {
        boolean put = call.kind() == PeerCall.Kind.PUT;
        int end = PeerRequest.put(put ? PUT : GET, out, at);
        end = PeerRequest.putTarget(call, out, end);
        if (!put) {
            return PeerRequest.put(END, out, end);
        }
        end = PeerRequest.put(END_LENGTH, out, end);
        end = putNumber(call.record().length, out, end);
        return PeerRequest.put(END_OF_HEAD, out, end);
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
