package lab.server.cluster;

import java.nio.charset.StandardCharsets;

/** The hash code that {@link String} has for a key that is text. */
final class TextHash {

    private static final int FACTOR = 31;

    private TextHash() {
    }

    /** {@code new String(key, UTF_8).hashCode()}; makes no String of a key in ASCII. */
    static int of(byte[] key) {
        int hash = 0;
        for (byte b : key) {
            if (b < 0) {
                return new String(key, StandardCharsets.UTF_8).hashCode();
            }
            hash = FACTOR * hash + b;
        }
        return hash;
    }
}
