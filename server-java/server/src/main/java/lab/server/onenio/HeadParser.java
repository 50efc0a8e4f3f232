package lab.server.onenio;

import java.nio.charset.StandardCharsets;
import lab.server.api.ClusterSecret;
import lab.server.api.Exchange;
import lab.server.api.Status;
import one.nio.http.Request;
import one.nio.util.Utf8;

/**
 * Reads the lines of a request's head from bytes. Makes no text of the header fields, for the server needs only five of
 * them.
 */
final class HeadParser {

    private static final byte[][] METHODS = new byte[Request.NUMBER_OF_METHODS][];
    private static final byte[] VERSION = Heads.ascii(" HTTP/1.");
    private static final byte[] CONNECTION = Heads.ascii("connection");
    private static final byte[] CONTENT_LENGTH = Heads.ascii("content-length");
    private static final byte[] TRANSFER_ENCODING = Heads.ascii("transfer-encoding");
    private static final byte[] EXPECT = Heads.ascii("expect");
    private static final byte[] INTERNAL = Heads.ascii(Exchange.INTERNAL_FIELD);
    private static final int LOWER = 0x20;
    private static final int TEN = 10;

    static {
        for (int method = 1; method < METHODS.length; method++) {
            METHODS[method] = Heads.ascii(new Request(method, "/", true).getMethodName() + ' ');
        }
    }

    private HeadParser() {
    }

    /** Reads the first line of a request; one that cannot be read gives a request that is rejected. */
    static ReceivedRequest requestLine(byte[] buffer, int from, int to) {
        int versionAt = to - VERSION.length - 1;
        if (versionAt > from && matches(VERSION, buffer, versionAt)) {
            boolean http11 = buffer[to - 1] != '0';
            for (int method = 1; method < METHODS.length; method++) {
                int targetAt = from + METHODS[method].length;
                if (targetAt < versionAt && matches(METHODS[method], buffer, from)) {
                    return new ReceivedRequest(method, Utf8.read(buffer, targetAt, versionAt - targetAt), http11);
                }
            }
            for (int at = from + 1; at + 1 < versionAt; at++) {
                if (buffer[at] == ' ') {
                    return new ReceivedRequest(0, Utf8.read(buffer, at + 1, versionAt - at - 1), http11);
                }
            }
        }
        return ReceivedRequest.unreadable(Status.BAD_REQUEST,
                "The first line of the request is not METHOD TARGET HTTP/1.1.");
    }

    /**
     * Reads one header field into the request.
     *
     * @param secret what another node proves itself with, or null if there is none
     */
    static void headerLine(ReceivedRequest request, byte[] buffer, int from, int to, ClusterSecret secret) {
        switch (buffer[from] | LOWER) {
            case 'c' -> {
                if (isField(CONTENT_LENGTH, buffer, from, to)) {
                    contentLength(request, value(CONTENT_LENGTH, buffer, from, to));
                } else if (isField(CONNECTION, buffer, from, to)) {
                    String value = value(CONNECTION, buffer, from, to);
                    if (value.equalsIgnoreCase("close")) {
                        request.keepAlive = false;
                    } else if (value.equalsIgnoreCase("keep-alive")) {
                        request.keepAlive = true;
                    }
                }
            }
            case 't' -> {
                if (isField(TRANSFER_ENCODING, buffer, from, to)) {
                    request.chunkedBody = true;
                    request.transferEncoding = value(TRANSFER_ENCODING, buffer, from, to);
                }
            }
            case 'e' -> {
                if (isField(EXPECT, buffer, from, to)) {
                    request.expectsContinue = true;
                }
            }
            case 'l' -> {
                if (isField(INTERNAL, buffer, from, to)) {
                    internal(request, buffer, from + INTERNAL.length + 1, to, secret);
                }
            }
            default -> {
                // Not needed.
            }
        }
    }

    private static void internal(ReceivedRequest request, byte[] buffer, int from, int to, ClusterSecret secret) {
        int start = from;
        int end = to;
        while (start < end && isSpace(buffer[start])) {
            start++;
        }
        while (start < end && isSpace(buffer[end - 1])) {
            end--;
        }
        if (secret != null && secret.matches(buffer, start, end)) {
            request.internal = true;
        } else {
            request.reject(Status.FORBIDDEN, Exchange.INTERNAL_REFUSED);
            request.keepAlive = false;
        }
    }

    private static boolean isSpace(byte b) {
        return b == ' ' || b == '\t';
    }

    /** Rejects a body in chunks whose end two readers could see at different places, and other codings. */
    static void checkChunked(ReceivedRequest request) {
        if (!request.transferEncoding.equalsIgnoreCase("chunked")) {
            request.reject(Status.BAD_REQUEST, "The header field Transfer-Encoding is '" + request.transferEncoding
                    + "'; only chunked is taken.");
            request.keepAlive = false;
        } else if (request.contentLength >= 0 || !request.isHttp11()) {
            request.reject(Status.BAD_REQUEST, "The body comes in chunks and the request has "
                    + (request.isHttp11() ? "a Content-Length too; send one of them." : "the version HTTP/1.0, which "
                    + "knows no chunks; send Content-Length."));
            request.keepAlive = false;
        }
    }

    private static void contentLength(ReceivedRequest request, String value) {
        long length = value.isEmpty() ? -1 : 0;
        for (int i = 0; i < value.length() && length >= 0; i++) {
            int digit = value.charAt(i) - '0';
            if (digit < 0 || digit >= TEN) {
                length = -1;
            } else if (length > (Long.MAX_VALUE - digit) / TEN) {
                length = Long.MAX_VALUE;
            } else {
                length = length * TEN + digit;
            }
        }
        if (length < 0 || request.contentLength >= 0 && request.contentLength != length) {
            request.reject(Status.BAD_REQUEST, "The header field Content-Length is '" + value
                    + "'; send one whole number, the bytes of the body.");
            request.keepAlive = false;
        } else {
            request.contentLength = length;
        }
    }

    private static boolean isField(byte[] name, byte[] buffer, int from, int to) {
        if (to - from <= name.length || buffer[from + name.length] != ':') {
            return false;
        }
        for (int i = 0; i < name.length; i++) {
            if ((buffer[from + i] | LOWER) != (name[i] | LOWER)) {
                return false;
            }
        }
        return true;
    }

    private static String value(byte[] name, byte[] buffer, int from, int to) {
        int start = from + name.length + 1;
        return new String(buffer, start, to - start, StandardCharsets.ISO_8859_1).strip();
    }

    private static boolean matches(byte[] expected, byte[] buffer, int at) {
        for (int i = 0; i < expected.length; i++) {
            if (buffer[at + i] != expected[i]) {
                return false;
            }
        }
        return true;
    }
}
