package lab.server;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** An HTTP client that sends exactly the bytes that it is given, on one connection. */
public final class RawClient implements AutoCloseable {

    private static final int TIMEOUT_MS = 120_000;
    private static final int HEX = 16;

    private final Socket socket;
    private final InputStream in;

    /** Connects to a port of this machine. */
    public RawClient(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(TIMEOUT_MS);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
    }

    /**
     * One response.
     *
     * @param fields header fields; names in lower case
     */
    public record Response(int status, Map<String, String> fields, byte[] body) {

        /** The body as a text. */
        public String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    /** Sends bytes as they are. */
    public void send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
        socket.getOutputStream().flush();
    }

    /** Says that nothing more will be sent, and goes on reading. */
    public void endOutput() throws IOException {
        socket.shutdownOutput();
    }

    /** Sends a text as UTF-8. */
    public void send(String text) throws IOException {
        send(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Sends a request without a body and reads the response. */
    public Response ask(String method, String target) throws IOException {
        send(method + " " + target + " HTTP/1.1\r\nHost: test\r\n\r\n");
        return read("HEAD".equals(method));
    }

    /** Sends a request with a body and reads the response. */
    public Response ask(String method, String target, byte[] body) throws IOException {
        send(method + " " + target + " HTTP/1.1\r\nHost: test\r\nContent-Length: " + body.length + "\r\n\r\n");
        send(body);
        return read(false);
    }

    /** Sends a PUT whose body comes in chunks. */
    public void putInChunks(String target, byte[] body, int chunkBytes) throws IOException {
        send("PUT " + target + " HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int at = 0; at < body.length; at += chunkBytes) {
            int length = Math.min(chunkBytes, body.length - at);
            send(Integer.toHexString(length) + "\r\n");
            send(java.util.Arrays.copyOfRange(body, at, at + length));
            send("\r\n");
        }
        send("0\r\n\r\n");
    }

    /** Reads a response. */
    public Response read() throws IOException {
        return read(false);
    }

    /** Reads a response to a HEAD. */
    public Response readToHead() throws IOException {
        return read(true);
    }

    /** Sends bytes, to nobody if the server has closed the connection. */
    public void sendIfOpen(byte[] bytes) throws IOException {
        try {
            send(bytes);
        } catch (SocketException e) {
            // What it sent before can still be read.
        }
    }

    /** Whether something was received that is still to be read. */
    public boolean hasInput() throws IOException {
        return in.available() > 0;
    }

    /** Reads a response if one comes in time. */
    public boolean hasResponseWithin(int timeoutMs) throws IOException {
        socket.setSoTimeout(timeoutMs);
        try {
            read();
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        } finally {
            socket.setSoTimeout(TIMEOUT_MS);
        }
    }

    /** Reads a response without a body as it was sent, but for white space at the ends of its lines. */
    public String readHead() throws IOException {
        StringBuilder head = new StringBuilder();
        for (String line = line(); !line.isEmpty(); line = line()) {
            head.append(line).append("\r\n");
        }
        return head.toString();
    }

    private Response read(boolean head) throws IOException {
        String statusLine = line();
        int status = Integer.parseInt(statusLine.split(" ")[1]);
        Map<String, String> fields = new LinkedHashMap<>();
        for (String line = line(); !line.isEmpty(); line = line()) {
            int colon = line.indexOf(':');
            fields.put(line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
        }
        byte[] body = {};
        if (!head) {
            if ("chunked".equals(fields.get("transfer-encoding"))) {
                body = chunks();
            } else if (fields.containsKey("content-length")) {
                body = in.readNBytes(Integer.parseInt(fields.get("content-length")));
            } else if (status >= 200) {
                body = in.readAllBytes();
            }
        }
        return new Response(status, fields, body);
    }

    private byte[] chunks() throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        while (true) {
            int length = Integer.parseInt(line(), HEX);
            body.write(in.readNBytes(length));
            String end = line();
            if (!end.isEmpty()) {
                throw new IOException("A chunk is followed by '" + end + "'.");
            }
            if (length == 0) {
                return body.toByteArray();
            }
        }
    }

    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        while (true) {
            int b = in.read();
            if (b < 0) {
                throw new EOFException("The server closed the connection after '" + line + "'.");
            }
            if (b == '\n') {
                return line.toString(StandardCharsets.ISO_8859_1).strip();
            }
            line.write(b);
        }
    }

    /** Whether the server has closed the connection, after everything it sent was read. */
    public boolean isEnded() throws IOException {
        try {
            return in.read() < 0;
        } catch (SocketException e) {
            // It was sent more than it wanted to read.
            return true;
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
