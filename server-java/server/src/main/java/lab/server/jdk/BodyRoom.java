package lab.server.jdk;

import java.util.concurrent.Semaphore;
import lab.server.api.BodyMemory;
import lab.server.http.IncomingBody;

/** Room in the heap for the body of one request: who reserves it waits until it is there. */
final class BodyRoom implements BodyMemory.Waiter, AutoCloseable {

    private final BodyMemory.Rooms rooms;
    private final Semaphore granted = new Semaphore(0);
    private BodyMemory reservedIn;
    private long reservedBytes;
    private volatile long wantedBytes;

    /**
     * @param rooms shared by all requests of the server
     */
    BodyRoom(BodyMemory.Rooms rooms) {
        this.rooms = rooms;
    }

    /** Waits for the room that a body needs, in the place of what was reserved before. */
    void reserve(IncomingBody body) {
        BodyMemory room = rooms.of(body.wantedBytes());
        wantedBytes = body.wantedHeapBytes();
        if (!room.reserve(this)) {
            granted.acquireUninterruptibly();
        }
        close();
        reservedIn = room;
        reservedBytes = wantedBytes;
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
    public void close() {
        if (reservedIn != null) {
            reservedIn.release(reservedBytes);
            reservedIn = null;
        }
    }
}
