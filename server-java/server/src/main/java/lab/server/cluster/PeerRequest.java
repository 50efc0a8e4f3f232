package lab.server.cluster;

import java.nio.charset.StandardCharsets;
import lab.server.api.KeyValueApi;

/** How a call looks in HTTP, whichever client sends it. */
final class PeerRequest {

    private static final byte[] ENTITY = ascii(KeyValueApi.ENTITY + "?id=");
    private static final byte[] STATUS = ascii(KeyValueApi.STATUS);
    private static final byte[] NODE = ascii(KeyValueApi.NODE + "?url=");
    private static final byte[] HEX = ascii("0123456789ABCDEF");
    private static final int ESCAPE_BYTES = 3;
    private static final int HEX_BITS = 4;
    private static final int HEX_MASK = 15;

    private PeerRequest() {
    }

    /** Path and query of a call. */
    static String target(PeerCall call) {
        byte[] bytes = new byte[maxTargetBytes(call)];
        return new String(bytes, 0, putTarget(call, bytes, 0), StandardCharsets.US_ASCII);
    }

    /** The target has at most this many bytes. */
    static int maxTargetBytes(PeerCall call) {
        return call.key() == null ? STATUS.length
                : Math.max(ENTITY.length, NODE.length) + ESCAPE_BYTES * call.key().length;
    }

    /**
     * Writes path and query of a call.
     *
     * @return position after them
     */
    static int putTarget(PeerCall call, byte[] out, int at) {
        byte[] key = call.key();
        if (key == null) {
            return put(STATUS, out, at);
        }
        return putEscaped(key, out, put(call.kind() == PeerCall.Kind.ANNOUNCE ? NODE : ENTITY, out, at));
    }

    /**
     * Path and query of the range of another node.
     *
     * @param to null for no end
     */
    static String rangeTarget(byte[] from, byte[] to) {
        return KeyValueApi.ENTITIES + "?start=" + escaped(from) + (to == null ? "" : "&end=" + escaped(to));
    }

    private static String escaped(byte[] key) {
        byte[] bytes = new byte[ESCAPE_BYTES * key.length];
        return new String(bytes, 0, putEscaped(key, bytes, 0), StandardCharsets.US_ASCII);
    }

    private static int putEscaped(byte[] key, byte[] out, int at) {
        int end = at;
        for (byte b : key) {
            if (isPlain(b)) {
                out[end++] = b;
            } else {
                out[end++] = '%';
                out[end++] = HEX[b >> HEX_BITS & HEX_MASK];
                out[end++] = HEX[b & HEX_MASK];
            }
        }
        return end;
    }

    private static boolean isPlain(byte b) {
        return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
                || b == '-' || b == '.' || b == '_' || b == '~';
    }

    static int put(byte[] bytes, byte[] out, int at) {
        System.arraycopy(bytes, 0, out, at, bytes.length);
        return at + bytes.length;
    }

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
