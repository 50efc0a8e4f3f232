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
 * <p>{@code java DelayServer.java 20000,20000,40000} takes the cycle in microseconds; each request to
 * {@code /delayed} takes the next one; {@code /warm} is answered at once, by the same code, and not kept.
 * Its first line is its port. {@code GET /recorded} answers with the kept times, microseconds, apart by commas, in the
 * order in which answers were ready, each as {@code wall-clock-microseconds:duration}.
 */
public final class DelayServer {
    private static final ConcurrentLinkedQueue<String> RECORDED = new ConcurrentLinkedQueue<>();
    private static final byte[] OK = answer("ok");
    private static final int PATH_AT = "GET /".length();
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
                if (filled < 4 || buffer[filled - 1] != '\n' || buffer[filled - 3] != '\n') {
                    continue;
                }
                filled = 0;
                if (buffer[PATH_AT] == 'r') {
                    out.write(answer(recorded()));
                    continue;
                }
                if (buffer[PATH_AT] == 'd') {
                    delay(cycleNs);
                }
                out.write(OK);
            }
        } catch (IOException gone) {
            // a client that goes away is no matter of this server
        }
    }

    private static byte[] answer(String body) {
        String head = "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n";
        return (head + body).getBytes(StandardCharsets.ISO_8859_1);
    }

    private static void delay(long[] cycleNs) {
        long begin = System.nanoTime();
        long until = begin + cycleNs[Math.floorMod(NEXT.getAndIncrement(), cycleNs.length)];
        for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
        long tookUs = (System.nanoTime() - begin) / 1000;
        RECORDED.add(System.currentTimeMillis() * 1000 + ":" + tookUs);
    }

    private static String recorded() {
        StringJoiner joined = new StringJoiner(",");
        RECORDED.forEach(joined::add);
        return joined.toString();
    }
}
