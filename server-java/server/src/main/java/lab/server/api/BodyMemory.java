package lab.server.api;

import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Heap that request bodies may take while they are being received, over all connections. Without a bound, 64 clients that
 * send 16 MiB each would need a gigabyte, and so would 16 000 that begin to send 64 KiB and stop. A connection that finds
 * no room stops reading and goes on in its turn; its client sees a slow server, not an error.
 */
public final class BodyMemory {

    /** Bodies up to this size are not counted; the limit of connections bounds them, and they never wait. */
    public static final int UNCOUNTED_BYTES = 4 * 1024;
    /** Bodies up to this size have a share of the heap of their own, so that large ones do not hold them up. */
    public static final int SMALL_BYTES = 64 * 1024;
    /** The heap divided by this is what small bodies may take, and again what large ones may. */
    private static final int HEAP_SHARE = 8;

    /**
     * The room of a server.
     *
     * @param small for bodies up to {@link #SMALL_BYTES}
     * @param large for all others
     */
    public record Rooms(BodyMemory small, BodyMemory large) {

        /** Shares of the heap of this process. */
        public static Rooms ofHeap() {
            long bytes = Runtime.getRuntime().maxMemory() / HEAP_SHARE;
            return new Rooms(new BodyMemory(bytes), new BodyMemory(bytes));
        }

        /**
         * The room for a body. Who holds some of the small room may wait for the large one, never the other way round:
         * so nobody waits in a circle.
         */
        public BodyMemory of(long bodyBytes) {
            return bodyBytes <= SMALL_BYTES ? small : large;
        }
    }

    private static final long RETRY_MS = 20;

    /** One who waits for room. */
    public interface Waiter {
        /** Called on a thread of its own, with the room already reserved. */
        void roomReserved();

        /** Heap bytes that it waits for. */
        long neededBytes();
    }

    private final long limitBytes;
    private final Queue<Waiter> waiters = new ArrayDeque<>();
    private long reservedBytes;
    /** Read without the monitor. */
    private volatile boolean crowded;

    /**
     * @param limitBytes bodies together may take this much; one alone may take more
     */
    public BodyMemory(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /**
     * Reserves room, or queues the waiter, which is notified later.
     *
     * @return whether room was reserved
     */
    public synchronized boolean reserve(Waiter waiter) {
        if (waiters.isEmpty() && fits(waiter.neededBytes())) {
            reservedBytes += waiter.neededBytes();
            return true;
        }
        waiters.add(waiter);
        crowded = true;
        return false;
    }

    /** Whether somebody waits for room. */
    public boolean isCrowded() {
        return crowded;
    }

    /**
     * Tells a waiter again, a little later, that its room is reserved. For one whose room the heap did not have: nobody is
     * notified when a collection makes some, so there is nothing to wait for but time.
     */
    public static void retryLater(Waiter waiter) {
        Thread.ofVirtual().name("body-retry").start(() -> {
            try {
                Thread.sleep(RETRY_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            waiter.roomReserved();
        });
    }

    private boolean fits(long bytes) {
        return reservedBytes == 0 || reservedBytes + bytes <= limitBytes;
    }

    /** Gives room back and lets in those who waited longest. */
    public synchronized void release(long bytes) {
        reservedBytes -= bytes;
        admit();
    }

    /** Takes a waiter out of the queue; false if it is not there, because room was already reserved for it. */
    public synchronized boolean cancel(Waiter waiter) {
        boolean removed = waiters.remove(waiter);
        if (removed) {
            admit();
        }
        return removed;
    }

    private void admit() {
        for (Waiter first = waiters.peek(); first != null && fits(first.neededBytes()); first = waiters.peek()) {
            waiters.remove();
            reservedBytes += first.neededBytes();
            // Not on this thread: it holds the lock of another connection, and two of these would wait for each other.
            Thread.ofVirtual().name("body-room").start(first::roomReserved);
        }
        crowded = !waiters.isEmpty();
    }
}
