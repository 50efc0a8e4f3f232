package lab.stress;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The way from one node to another, which can be cut. While it is cut nothing passes in either direction and nobody hears
 * of it, as when a network loses packets; when it is healed, what was sent in the meantime arrives late.
 */
final class Link implements AutoCloseable {

    private static final int BUFFER_BYTES = 16 * 1024;

    private final ServerSocket listener = new ServerSocket();
    private final InetSocketAddress target;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private boolean cut;

    /**
     * @param from   where the one node finds the other
     * @param target where the other listens
     */
    Link(InetSocketAddress from, InetSocketAddress target) throws IOException {
        this.target = target;
        listener.setReuseAddress(true);
        listener.bind(from);
        Thread.ofVirtual().start(this::accept);
    }

    /** Address of the machine at which a node finds another, by their numbers; all of them are this machine. */
    static InetAddress address(int from, int to) throws IOException {
        return InetAddress.getByAddress(new byte[] {127, 0, (byte) (from + 1), (byte) (to + 1)});
    }

    synchronized void cut() {
        cut = true;
    }

    synchronized void heal() {
        cut = false;
        notifyAll();
    }

    private synchronized void awaitWhole() throws InterruptedException {
        while (cut) {
            wait();
        }
    }

    private void accept() {
        while (true) {
            try {
                Socket near = listener.accept();
                open.add(near);
                Thread.ofVirtual().start(() -> connect(near));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void connect(Socket near) {
        Socket far = new Socket();
        open.add(far);
        try (near; far) {
            awaitWhole();
            far.connect(target);
            far.setTcpNoDelay(true);
            near.setTcpNoDelay(true);
            Thread back = Thread.ofVirtual().start(() -> pass(far, near));
            pass(near, far);
            back.join();
        } catch (IOException e) {
            // The other node is down, so the connection ends.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            open.remove(near);
            open.remove(far);
        }
    }

    /** Passes bytes on until one side ends, then ends both. */
    private void pass(Socket source, Socket sink) {
        byte[] buffer = new byte[BUFFER_BYTES];
        try {
            InputStream in = source.getInputStream();
            OutputStream out = sink.getOutputStream();
            for (int bytes = in.read(buffer); bytes >= 0; bytes = in.read(buffer)) {
                awaitWhole();
                out.write(buffer, 0, bytes);
            }
            awaitWhole();
        } catch (IOException e) {
            // One of them has gone.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            end(source);
            end(sink);
        }
    }

    private static void end(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // It has ended already.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        heal();
        open.forEach(Link::end);
    }
}
