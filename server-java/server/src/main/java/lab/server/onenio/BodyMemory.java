package lab.server.onenio;

import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Heap that large request bodies may take while they are being received, over all connections. Without a bound, 64
 * clients that send 16 MiB each would need a gigabyte. A connection that finds no room stops reading and goes on in its
 * turn; its client sees a slow server, not an error.
 */
final class BodyMemory {

    /** Bodies up to this size are not counted: one-nio has read most of them before their size is known. */
    static final int UNCOUNTED_BYTES = 64 * 1024;

    private static final long RETRY_MS = 20;

    /** One who waits for room. */
    interface Waiter {
        /** Called on a thread of its own, with the room already reserved. */
        void roomReserved();

        /** Heap bytes that it waits for. */
        long neededBytes();
    }

    private final long limitBytes;
    private final Queue<Waiter> waiters = new ArrayDeque<>();
    private long reservedBytes;

    /**
     * @param limitBytes bodies together may take this much; one alone may take more
     */
    BodyMemory(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /**
     * Reserves room, or queues the waiter, which is told later.
     *
     * @return whether room was reserved
     */
    synchronized boolean reserve(Waiter waiter) {
        if (waiters.isEmpty() && fits(waiter.neededBytes())) {
            reservedBytes += waiter.neededBytes();
            return true;
        }
        waiters.add(waiter);
        return false;
    }

    /**
     * Tells a waiter again, a little later, that its room is reserved. For one whose room the heap did not have: nobody is
     * told when a collection makes some, so there is nothing to wait for but time.
     */
    static void retryLater(Waiter waiter) {
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
    synchronized void release(long bytes) {
        reservedBytes -= bytes;
        admit();
    }

    /** Takes a waiter out of the queue; false if it is not there, because room was already reserved for it. */
    synchronized boolean cancel(Waiter waiter) {
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
    }
}
