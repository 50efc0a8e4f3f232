package lab.storage.conformance;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Finds ports for servers that must be given theirs. They are below those that systems give to connections, of which other
 * tests open thousands meanwhile, so that nobody takes one before the server does.
 */
public final class FreePort {

    /** Above those that the tests in Python look for. */
    private static final int FIRST = 30_000;
    private static final int END = 32_000;
    /** One for each port that was given, so that no other process of tests is given the same, nor even looks at it. */
    private static final Queue<DatagramSocket> CLAIMS = new ConcurrentLinkedQueue<>();

    private FreePort() {
    }

    /** Returns a port of the loopback address that is free; never the same twice in a process. */
    public static int next() {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, END);
            if (claim(port) && isFree(port)) {
                return port;
            }
        }
    }

    private static boolean claim(int port) {
        try {
            return CLAIMS.add(new DatagramSocket(port, InetAddress.getLoopbackAddress()));
        } catch (SocketException e) {
            return false;
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return probe.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
