package lab.storage.lsm.table;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import lab.storage.lsm.entry.Keys;

/**
 * Keys that cannot be read, since a part of a table is damaged.
 *
 * @param file   the table
 * @param offset first byte of the damaged part
 * @param from   the first key
 * @param to     the key after the last one, or, at the end of the table, the last one
 */
public record DamagedRange(Path file, long offset, byte[] from, byte[] to) {

    private static final int SHOWN_BYTES = 100;

    @Override
    public String toString() {
        return "from " + text(from) + " to " + text(to);
    }

    /** A key as text, or in hexadecimal digits if it has other bytes than those of printable characters. */
    private static String text(byte[] key) {
        byte[] shown = key.length <= SHOWN_BYTES ? key : java.util.Arrays.copyOf(key, SHOWN_BYTES);
        String more = shown.length < key.length ? "..." : "";
        for (byte keyByte : shown) {
            if (keyByte < ' ' || keyByte > '~') {
                return "0x" + HexFormat.of().formatHex(shown) + more;
            }
        }
        return '"' + new String(shown, StandardCharsets.US_ASCII) + more + '"';
    }
}
