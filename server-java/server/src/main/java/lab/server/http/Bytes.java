package lab.server.http;

import java.nio.charset.StandardCharsets;

/** What the bytes of a message's head may be, by RFC 9110 and 9112, and how they are compared. */
final class Bytes {

    private static final int VALUES = 256;
    private static final int UNSIGNED = 0xff;
    private static final int DELETE = 0x7f;
    private static final int LOWER = 0x20;

    private static final byte TOKEN = 1;
    private static final byte TARGET = 2;
    private static final byte TEXT = 4;
    private static final byte HOST = 8;
    private static final byte[] KINDS = new byte[VALUES];

    static {
        for (int b = ' '; b < VALUES; b++) {
            KINDS[b] |= b == DELETE ? 0 : b == ' ' ? TEXT : TEXT | TARGET;
        }
        KINDS['\t'] |= TEXT;
        for (byte b : ascii("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~!$&'*+")) {
            KINDS[b] |= TOKEN | HOST;
        }
        for (byte b : ascii("#%^`|")) {
            KINDS[b] |= TOKEN;
        }
        for (byte b : ascii("%:[](),;=")) {
            KINDS[b] |= HOST;
        }
    }

    private Bytes() {
    }

    /** Whether names of methods and of header fields may have it. */
    static boolean isToken(byte b) {
        return (KINDS[b & UNSIGNED] & TOKEN) != 0;
    }

    /** Whether a target may have it: all but white space and control characters. Raw UTF-8 is let pass. */
    static boolean isTarget(byte b) {
        return (KINDS[b & UNSIGNED] & TARGET) != 0;
    }

    /** Whether the value of a header field may have it: all but control characters other than the tabulator. */
    static boolean isText(byte b) {
        return (KINDS[b & UNSIGNED] & TEXT) != 0;
    }

    /** Whether the name of a host, or its port, may have it. */
    static boolean isHost(byte b) {
        return (KINDS[b & UNSIGNED] & HOST) != 0;
    }

    static boolean isSpace(byte b) {
        return b == ' ' || b == '\t';
    }

    /** Whether bytes are a name in small letters and hyphens, in whichever case; control characters must be ruled out. */
    static boolean isName(byte[] name, byte[] buffer, int from, int to) {
        if (to - from != name.length) {
            return false;
        }
        for (int i = 0; i < name.length; i++) {
            if ((buffer[from + i] | LOWER) != name[i]) {
                return false;
            }
        }
        return true;
    }

    /** Whether bytes stand at a place, behind which there must be as many. */
    static boolean standAt(byte[] expected, byte[] buffer, int at) {
        for (int i = 0; i < expected.length; i++) {
            if (buffer[at + i] != expected[i]) {
                return false;
            }
        }
        return true;
    }

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    static String text(byte[] buffer, int from, int to) {
        return new String(buffer, from, to - from, StandardCharsets.ISO_8859_1);
    }
}
