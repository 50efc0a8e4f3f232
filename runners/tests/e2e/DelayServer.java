import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * An HTTP server for tests that answers each request after a delay out of a known cycle, and keeps how long it really
 * took: from the moment when the whole request was read to the one before the answer is written.
 *
 * <p>{@code java DelayServer.java 20000,20000,40000} takes the cycle in microseconds; each request takes the next one.
 * Its first line is its port. {@code GET /recorded} answers with the kept times, microseconds, apart by commas, in the
 * order in which answers were ready, each as {@code wall-clock-microseconds:duration}.
 */
public final class DelayServer {
    private static final ConcurrentLinkedQueue<String> RECORDED = new ConcurrentLinkedQueue<>();
    private static final AtomicInteger NEXT = new AtomicInteger();

    private DelayServer() {
    }

    public static void main(String[] arguments) throws IOException {
        String[] parts = arguments[0].split(",");
        long[] cycleNs = new long[parts.length];
        for (int i = 0; i < parts.length; i++) {
            cycleNs[i] = Long.parseLong(parts[i]) * 1000;
        }
        try (ServerSocket listening = new ServerSocket(0, 256, InetAddress.getLoopbackAddress())) {
            System.out.println(listening.getLocalPort());
            while (true) {
                Socket socket = listening.accept();
                Thread.ofPlatform().daemon().start(() -> serve(socket, cycleNs));
            }
        }
    }

    private static void serve(Socket socket, long[] cycleNs) {
        try (socket) {
            socket.setTcpNoDelay(true);
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            byte[] buffer = new byte[8192];
            int filled = 0;
            while (true) {
                int count = in.read(buffer, filled, buffer.length - filled);
                if (count < 0) {
                    return;
                }
                filled += count;
                String head = new String(buffer, 0, filled, StandardCharsets.ISO_8859_1);
                if (!head.endsWith("\r\n\r\n")) {
                    continue;
                }
                filled = 0;
                String body = head.startsWith("GET /recorded ") ? recorded() : delayed(cycleNs);
                String answer = "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
                out.write(answer.getBytes(StandardCharsets.ISO_8859_1));
            }
        } catch (IOException gone) {
            // a client that goes away is no matter of this server
        }
    }

    private static String delayed(long[] cycleNs) {
        long begin = System.nanoTime();
        long until = begin + cycleNs[Math.floorMod(NEXT.getAndIncrement(), cycleNs.length)];
        for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
        long tookUs = (System.nanoTime() - begin) / 1000;
        RECORDED.add(System.currentTimeMillis() * 1000 + ":" + tookUs);
        return "ok";
    }

    private static String recorded() {
        StringJoiner joined = new StringJoiner(",");
        RECORDED.forEach(joined::add);
        return joined.toString();
    }
}
