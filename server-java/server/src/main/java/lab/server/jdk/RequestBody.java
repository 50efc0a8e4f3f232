package lab.server.jdk;

import com.sun.net.httpserver.HttpExchange;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import lab.server.api.BodyMemory;
import lab.storage.HeapFootprint;

/** Reads the body of one request; waits for room in the heap before it takes any, and keeps it until it is closed. */
final class RequestBody implements BodyMemory.Waiter, AutoCloseable {

    private static final byte[] NO_BYTES = {};

    private final BodyMemory.Rooms rooms;
    private final Semaphore granted = new Semaphore(0);
    private BodyMemory reservedIn;
    private long reservedBytes;
    private volatile long wantedBytes;

    /**
     * @param rooms shared by all requests of the server
     */
    RequestBody(BodyMemory.Rooms rooms) {
        this.rooms = rooms;
    }

    /**
     * Reads the whole body. One that is too large is read and thrown away, since the JDK would else close the connection.
     *
     * @return the bytes, or null if there are more than {@code maxBytes}
     */
    byte[] read(HttpExchange exchange, int maxBytes) throws IOException {
        InputStream in = exchange.getRequestBody();
        String announced = exchange.getRequestHeaders().getFirst("Content-Length");
        byte[] bytes;
        if (announced != null) {
            long length = Long.parseLong(announced);
            bytes = length > maxBytes ? null : readAnnounced(in, (int) length);
        } else if (exchange.getRequestHeaders().containsKey("Transfer-Encoding")) {
            bytes = readChunks(in, maxBytes);
        } else {
            bytes = NO_BYTES;
        }
        if (bytes == null) {
            close();
            in.transferTo(OutputStream.nullOutputStream());
        }
        return bytes;
    }

    private byte[] readAnnounced(InputStream in, int length) throws IOException {
        if (length > BodyMemory.UNCOUNTED_BYTES) {
            reserve(length, HeapFootprint.ofArray(length));
        }
        byte[] bytes = new byte[length];
        if (in.readNBytes(bytes, 0, length) < length) {
            throw new EOFException("The client has sent less than it announced.");
        }
        return bytes;
    }

    /** The pieces that are read and the whole that they are put together to are counted. */
    private byte[] readChunks(InputStream in, int maxBytes) throws IOException {
        int small = Math.min(BodyMemory.SMALL_BYTES, maxBytes);
        reserve(small, 2 * HeapFootprint.ofArray(small));
        byte[] first = in.readNBytes(small);
        int next = first.length < small ? -1 : in.read();
        if (next < 0) {
            return first;
        }
        if (small == maxBytes) {
            return null;
        }
        reserve(maxBytes, 2 * HeapFootprint.ofArray(maxBytes));
        byte[] rest = in.readNBytes(maxBytes - small - 1);
        if (in.read() >= 0) {
            return null;
        }
        byte[] whole = Arrays.copyOf(first, small + 1 + rest.length);
        whole[small] = (byte) next;
        System.arraycopy(rest, 0, whole, small + 1, rest.length);
        return whole;
    }

    private void reserve(int bodyBytes, long heapBytes) {
        BodyMemory room = rooms.of(bodyBytes);
        wantedBytes = heapBytes;
        if (!room.reserve(this)) {
            granted.acquireUninterruptibly();
        }
        close();
        synchronized (this) {
            reservedIn = room;
            reservedBytes = heapBytes;
        }
    }

    @Override
    public void roomReserved() {
        granted.release();
    }

    @Override
    public long neededBytes() {
        return wantedBytes;
    }

    /** Gives the room back. May be called twice. */
    @Override
    public synchronized void close() {
        if (reservedIn != null) {
            reservedIn.release(reservedBytes);
            reservedIn = null;
        }
    }
}
