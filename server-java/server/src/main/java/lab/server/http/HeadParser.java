package lab.server.http;

import java.util.Locale;
import lab.server.api.Exchange;
import lab.server.api.Method;
import lab.server.api.Status;

/**
 * Reads the heads of the requests of one connection, line by line (RFC 9112, sections 2, 3, 5 and 6). What two readers could
 * understand differently, so that one of them takes a body for a request, is refused and ends the connection: a line that does
 * not end with CR LF, white space before a colon, a control character, a value on two lines, a second length, a coding
 * next to or after chunked. Makes no text of header fields, for the server needs only six of them.
 */
public final class HeadParser {

    private static final byte[] GET = Bytes.ascii("GET");
    private static final byte[] PUT = Bytes.ascii("PUT");
    private static final byte[] HEAD = Bytes.ascii("HEAD");
    private static final byte[] DELETE = Bytes.ascii("DELETE");
    /** A digit follows. */
    private static final byte[] VERSION = Bytes.ascii(" HTTP/1.");
    private static final byte[] SCHEME = Bytes.ascii("http://");
    private static final byte[] HOST = Bytes.ascii("host");
    private static final byte[] EXPECT = Bytes.ascii("expect");
    private static final byte[] CONTINUE = Bytes.ascii("100-continue");
    private static final byte[] CONNECTION = Bytes.ascii("connection");
    private static final byte[] CLOSE = Bytes.ascii("close");
    private static final byte[] KEEP_ALIVE = Bytes.ascii("keep-alive");
    private static final byte[] CONTENT_LENGTH = Bytes.ascii("content-length");
    private static final byte[] TRANSFER_ENCODING = Bytes.ascii("transfer-encoding");
    private static final byte[] CHUNKED = Bytes.ascii("chunked");
    private static final byte[] INTERNAL = Bytes.ascii(Exchange.INTERNAL_FIELD.toLowerCase(Locale.ROOT));
    private static final int TEN = 10;

    private final Limits limits;
    /** The request whose head is being read, or null before its first line. */
    private ReceivedRequest request;
    private boolean complete;
    private int headBytes;

    /** Of one connection. */
    public HeadParser(Limits limits) {
        this.limits = limits;
    }

    /**
     * Reads the next line.
     *
     * @param buffer    bytes from the connection
     * @param at        position of the first byte of the line
     * @param end       position after the last byte that is there
     * @param roomBytes most bytes of a line that the caller has room for
     * @return position after the line, or -1 if its end is not there yet
     */
    public int take(byte[] buffer, int at, int end, int roomBytes) {
        for (int feed = at; feed < end; feed++) {
            if (buffer[feed] == '\n') {
                headBytes += feed + 1 - at;
                line(buffer, at, feed, roomBytes);
                return feed + 1;
            }
        }
        if (end - at >= Math.min(roomBytes, limits.headBytes())) {
            refuseSize(roomBytes);
            return end;
        }
        return -1;
    }

    /** Whether the first line of a head was read and its last was not. */
    public boolean isBegun() {
        return request != null;
    }

    /** Gives the request once its head is complete or is refused, else null; then the next head begins. */
    public ReceivedRequest poll() {
        if (!complete) {
            return null;
        }
        ReceivedRequest read = request;
        request = null;
        complete = false;
        headBytes = 0;
        return read;
    }

    /** Gives up a head that takes too long; {@link #poll()} gives the request. */
    public void refuseTime() {
        refuse(Status.REQUEST_TIMEOUT, "The head of the request did not come within " + limits.headMs()
                + " ms. Send it at once, or start the server with a larger --head-timeout-ms.");
    }

    private void refuseSize(int roomBytes) {
        refuse(Status.HEAD_TOO_LARGE, "The head of the request is too large; a line may have "
                + (Math.min(roomBytes, limits.headBytes()) - 1) + " bytes and all lines " + limits.headBytes()
                + ". Send less, or start the server with a larger --max-head-bytes.");
    }

    private void refuse(Status status, String text) {
        if (request == null) {
            request = new ReceivedRequest(Method.OTHER, false, "", true);
        }
        request.reject(status, text);
        request.endConnection();
        complete = true;
    }

    private void line(byte[] buffer, int from, int feed, int roomBytes) {
        int to = feed - 1;
        if (headBytes > limits.headBytes()) {
            refuseSize(roomBytes);
        } else if (to < from || buffer[to] != '\r') {
            refuse(Status.BAD_REQUEST, "A line of the head ends with LF alone; end each with CR LF.");
        } else if (request == null) {
            // Empty lines before a request are allowed and mean nothing.
            if (from < to) {
                requestLine(buffer, from, to);
            }
        } else if (from < to) {
            field(buffer, from, to);
        } else {
            endOfHead();
        }
    }

    private void requestLine(byte[] buffer, int from, int to) {
        int space = endOfToken(buffer, from, to);
        int version = to - VERSION.length - 1;
        if (space == from || space >= version - 1 || buffer[space] != ' ' || !Bytes.standAt(VERSION, buffer, version)
                || !isDigit(buffer[to - 1])) {
            refuse(Status.BAD_REQUEST,
                    "The first line of the request is not METHOD TARGET HTTP/1.1 with one space between them.");
            return;
        }
        int target = space + 1;
        for (int at = target; at < version; at++) {
            if (!Bytes.isTarget(buffer[at])) {
                refuse(Status.BAD_REQUEST,
                        "The target of the request has white space or a control character; percent-encode it.");
                return;
            }
        }
        String origin = buffer[target] == '/' ? Bytes.text(buffer, target, version) : absolute(buffer, target, version);
        if (origin == null) {
            refuse(Status.BAD_REQUEST, "The target of the request has http:// and no host behind it, or more than its name and port.");
            return;
        }
        boolean head = space - from == HEAD.length && Bytes.standAt(HEAD, buffer, from);
        request = new ReceivedRequest(head ? Method.GET : method(buffer, from, space), head, origin, buffer[to - 1] != '0');
    }

    private static Method method(byte[] buffer, int from, int to) {
        int length = to - from;
        if (length == GET.length && Bytes.standAt(GET, buffer, from)) {
            return Method.GET;
        } else if (length == PUT.length && Bytes.standAt(PUT, buffer, from)) {
            return Method.PUT;
        }
        return length == DELETE.length && Bytes.standAt(DELETE, buffer, from) ? Method.DELETE : Method.OTHER;
    }

    /**
     * Path and query of a target that names the server too, as clients send it to proxies and every server must take it
     * (RFC 9112, section 3.2.2). Other targets are given as they are.
     */
    private static String absolute(byte[] buffer, int from, int to) {
        int host = from + SCHEME.length;
        if (host > to || !Bytes.standAt(SCHEME, buffer, from)) {
            return Bytes.text(buffer, from, to);
        }
        int path = host;
        while (path < to && Bytes.isHost(buffer[path])) {
            path++;
        }
        if (path == host || path < to && buffer[path] != '/' && buffer[path] != '?') {
            return null;
        }
        return (path < to && buffer[path] == '/' ? "" : "/") + Bytes.text(buffer, path, to);
    }

    private void field(byte[] buffer, int from, int to) {
        int colon = endOfToken(buffer, from, to);
        if (colon == from || colon == to || buffer[colon] != ':') {
            refuse(Status.BAD_REQUEST, "A line of the head is not NAME: VALUE. There may be no white space before the colon, "
                    + "and each field has one line.");
            return;
        }
        int start = colon + 1;
        int end = to;
        while (start < end && Bytes.isSpace(buffer[start])) {
            start++;
        }
        while (start < end && Bytes.isSpace(buffer[end - 1])) {
            end--;
        }
        for (int at = start; at < end; at++) {
            if (!Bytes.isText(buffer[at])) {
                refuse(Status.BAD_REQUEST, "The value of a header field has a control character; leave it out.");
                return;
            }
        }
        if (Bytes.isName(HOST, buffer, from, colon)) {
            host(buffer, start, end);
        } else if (Bytes.isName(CONTENT_LENGTH, buffer, from, colon)) {
            contentLength(buffer, start, end);
        } else if (Bytes.isName(TRANSFER_ENCODING, buffer, from, colon)) {
            transferEncoding(buffer, start, end);
        } else if (Bytes.isName(CONNECTION, buffer, from, colon)) {
            connection(buffer, start, end);
        } else if (Bytes.isName(INTERNAL, buffer, from, colon)) {
            internal(buffer, start, end);
        } else if (Bytes.isName(EXPECT, buffer, from, colon) && Bytes.isName(CONTINUE, buffer, start, end)
                && request.isHttp11()) {
            request.expectsContinue = true;
        }
    }

    private void host(byte[] buffer, int from, int to) {
        boolean valid = !request.hasHost;
        for (int at = from; at < to && valid; at++) {
            valid = Bytes.isHost(buffer[at]);
        }
        if (!valid) {
            refuse(Status.BAD_REQUEST, "The header field Host comes twice or is no host and port; send one.");
        }
        request.hasHost = true;
    }

    /** A list, in one line or several. Close counts wherever it stands. */
    private void connection(byte[] buffer, int from, int to) {
        for (int at = from; at < to; at++) {
            while (at < to && (buffer[at] == ',' || Bytes.isSpace(buffer[at]))) {
                at++;
            }
            int end = endOfToken(buffer, at, to);
            if (Bytes.isName(CLOSE, buffer, at, end)) {
                request.endConnection();
            } else if (Bytes.isName(KEEP_ALIVE, buffer, at, end)) {
                request.keepAlive = true;
            }
            at = end;
        }
    }

    private void contentLength(byte[] buffer, int from, int to) {
        long length = from < to && request.contentLength < 0 ? 0 : -1;
        for (int at = from; at < to && length >= 0; at++) {
            int digit = buffer[at] - '0';
            if (!isDigit(buffer[at])) {
                length = -1;
            } else if (length > (Long.MAX_VALUE - digit) / TEN) {
                length = Long.MAX_VALUE;
            } else {
                length = length * TEN + digit;
            }
        }
        if (length < 0) {
            refuse(Status.BAD_REQUEST, "The header field Content-Length is '" + Bytes.text(buffer, from, to)
                    + "', or comes twice; send one whole number, the bytes of the body.");
        } else {
            request.contentLength = length;
        }
    }

    /** Takes chunked alone: nobody needs another coding, and a message with one that is not known has no known end. */
    private void transferEncoding(byte[] buffer, int from, int to) {
        if (!request.chunked && Bytes.isName(CHUNKED, buffer, from, to)) {
            request.chunked = true;
            return;
        }
        int last = to;
        while (last > from && Bytes.isToken(buffer[last - 1])) {
            last--;
        }
        boolean known = !request.chunked && last > from && Bytes.isName(CHUNKED, buffer, last, to);
        refuse(known ? Status.NOT_IMPLEMENTED : Status.BAD_REQUEST, "The header field Transfer-Encoding is '"
                + Bytes.text(buffer, from, to) + "', or comes twice; only chunked is taken.");
    }

    private void internal(byte[] buffer, int from, int to) {
        if (limits.secret() != null && limits.secret().matches(buffer, from, to)) {
            request.internal = true;
        } else {
            refuse(Status.FORBIDDEN, Exchange.INTERNAL_REFUSED);
        }
    }

    private void endOfHead() {
        complete = true;
        if (request.isHttp11() && !request.hasHost) {
            refuse(Status.BAD_REQUEST, "The request has no header field Host; send one.");
        } else if (request.chunked && request.contentLength >= 0) {
            refuse(Status.BAD_REQUEST, "The body comes in chunks and the request has a Content-Length too; send one of them.");
        } else if (request.chunked && !request.isHttp11()) {
            refuse(Status.BAD_REQUEST, "The body comes in chunks and the request has the version HTTP/1.0, which knows no "
                    + "chunks; send Content-Length.");
        }
    }

    private static int endOfToken(byte[] buffer, int from, int to) {
        int at = from;
        while (at < to && Bytes.isToken(buffer[at])) {
            at++;
        }
        return at;
    }

    private static boolean isDigit(byte b) {
        return b >= '0' && b <= '9';
    }
}
