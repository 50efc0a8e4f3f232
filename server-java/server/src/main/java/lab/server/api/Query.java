package lab.server.api;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads a request target, {@code path?name=value&name=value}, without taking it apart first.
 *
 * <p>A target has a character for each byte that was sent. Values are UTF-8, percent-encoded or raw; {@code +} is a space, as
 * in forms. Of parameters with the same name the first counts.
 */
public final class Query {

    private static final int ASCII_END = 0x80;
    private static final int ESCAPE_CHARS = 3;
    private static final int HEX = 16;

    private Query() {
    }

    /** Whether the path of the target is this one. */
    public static boolean hasPath(String target, String path) {
        return target.startsWith(path)
                && (target.length() == path.length() || target.charAt(path.length()) == '?');
    }

    /**
     * Bytes of a parameter, decoded.
     *
     * @return null if the target does not have it
     * @throws BadRequestException if it is not well encoded
     */
    public static byte[] bytes(String target, String name) {
        int from = find(target, name);
        return from < 0 ? null : decode(target, from, end(target, from));
    }

    /**
     * A parameter that is a number.
     *
     * @param ifAbsent the number if the target does not have it
     * @throws BadRequestException if it is not a number that an int can hold
     */
    public static int number(String target, String name, int ifAbsent) {
        int from = find(target, name);
        if (from < 0) {
            return ifAbsent;
        }
        String text = target.substring(from, end(target, from));
        try {
            if (!text.startsWith("+")) {
                return Integer.parseInt(text);
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new BadRequestException("The parameter " + name + " is '" + text + "'; send a whole number.");
    }

    /** Position of the value of a parameter, or -1. */
    private static int find(String target, String name) {
        int at = target.indexOf('?');
        while (at >= 0) {
            int start = at + 1;
            int valueStart = start + name.length() + 1;
            if (target.startsWith(name, start) && valueStart <= target.length()
                    && target.charAt(valueStart - 1) == '=') {
                return valueStart;
            }
            at = target.indexOf('&', start);
        }
        return -1;
    }

    private static int end(String target, int from) {
        int end = target.indexOf('&', from);
        return end < 0 ? target.length() : end;
    }

    private static byte[] decode(String target, int from, int to) {
        byte[] plain = new byte[to - from];
        for (int i = from; i < to; i++) {
            char c = target.charAt(i);
            if (c == '%' || c == '+' || c >= ASCII_END) {
                return decodeEscaped(target.substring(from, to));
            }
            plain[i - from] = (byte) c;
        }
        return plain;
    }

    private static byte[] decodeEscaped(String text) {
        byte[] plain = new byte[text.length()];
        int length = 0;
        for (int i = 0; i < text.length(); length++) {
            char c = text.charAt(i);
            if (c == '%') {
                if (i + ESCAPE_CHARS > text.length()) {
                    throw badEscape(text);
                }
                plain[length] = (byte) (hex(text.charAt(i + 1), text) * HEX + hex(text.charAt(i + 2), text));
                i += ESCAPE_CHARS;
            } else {
                plain[length] = (byte) (c == '+' ? ' ' : c);
                i++;
            }
        }
        return utf8(Arrays.copyOf(plain, length));
    }

    /** Refuses other bytes: whoever reads them as text takes several of them for the same. */
    private static byte[] utf8(byte[] bytes) {
        // What cannot be decoded becomes something else.
        if (Arrays.equals(bytes, new String(bytes, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8))) {
            return bytes;
        }
        throw new BadRequestException("A parameter holds bytes that are not UTF-8; send UTF-8, percent-encoded.");
    }

    private static int hex(char digit, String text) {
        int value = Character.digit(digit, HEX);
        if (value < 0) {
            throw badEscape(text);
        }
        return value;
    }

    private static BadRequestException badEscape(String text) {
        return new BadRequestException("'" + text + "' is not well percent-encoded; send % and two hexadecimal digits "
                + "for each byte that is not a letter, a digit or one of -._~");
    }
}
