package lab.server.cluster;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A node that does as a test tells it: responds, keeps silent, breaks connections, talks nonsense. */
final class FakeNode implements AutoCloseable {

    /** One request as it came. */
    record Seen(String line, boolean marked, byte[] body) {
    }

    /** What the node does with a request; returns the bytes to send, or null to break the connection. */
    @FunctionalInterface
    interface Script {
        byte[] respond(Seen request) throws InterruptedException;
    }

    private final ServerSocket listener;
    private final Script script;
    private final Queue<Seen> seen = new ConcurrentLinkedQueue<>();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final Queue<InputStream> inputs = new ConcurrentLinkedQueue<>();
    private final AtomicInteger accepted = new AtomicInteger();

    FakeNode(Script script) throws IOException {
        this(0, script);
    }

    FakeNode(int port, Script script) throws IOException {
        this.script = script;
        listener = new ServerSocket();
        listener.setReuseAddress(true);
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        Thread.ofVirtual().start(this::accept);
    }

    static byte[] response(int status, byte[] body) {
        byte[] head = ("HTTP/1.1 " + status + " Whatever\r\nContent-Length: " + body.length
                + "\r\nConnection: Keep-Alive\r\n\r\n").getBytes(StandardCharsets.US_ASCII);
        byte[] all = java.util.Arrays.copyOf(head, head.length + body.length);
        System.arraycopy(body, 0, all, head.length, body.length);
        return all;
    }

    String url() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    int port() {
        return listener.getLocalPort();
    }

    Queue<Seen> seen() {
        return seen;
    }

    int connections() {
        return accepted.get();
    }

    /** Bytes that came and that it has not looked at yet. */
    int unread() throws IOException {
        int bytes = 0;
        for (InputStream in : inputs) {
            bytes += in.available();
        }
        return bytes;
    }

    private void accept() {
        while (true) {
            try {
                Socket socket = listener.accept();
                accepted.incrementAndGet();
                open.add(socket);
                Thread.ofVirtual().start(() -> serve(socket));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(socket.getInputStream());
            inputs.add(in);
            OutputStream out = socket.getOutputStream();
            while (true) {
                Seen request = read(in);
                if (request == null) {
                    return;
                }
                seen.add(request);
                byte[] response = script.respond(request);
                if (response == null) {
                    return;
                }
                out.write(response);
                out.flush();
            }
        } catch (IOException e) {
            // The client has gone, or the test ends.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Seen read(InputStream in) throws IOException {
        String first = line(in);
        if (first == null) {
            return null;
        }
        boolean marked = false;
        int length = 0;
        for (String line = line(in); line != null && !line.isEmpty(); line = line(in)) {
            String field = line.toLowerCase(Locale.ROOT);
            marked |= field.startsWith("lab-internal:");
            if (field.startsWith("content-length:")) {
                length = Integer.parseInt(field.substring("content-length:".length()).strip());
            }
        }
        return new Seen(first, marked, in.readNBytes(length));
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b >= 0; b = in.read()) {
            if (b == '\n') {
                return line.toString().strip();
            }
            line.append((char) b);
        }
        return null;
    }

    /** Closes all connections, as a node does that is stopped and started again. */
    void breakConnections() throws IOException {
        for (Socket socket : open) {
            socket.close();
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : open) {
            socket.close();
        }
    }
}
