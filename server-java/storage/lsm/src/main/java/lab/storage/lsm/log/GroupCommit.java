package lab.storage.lsm.log;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets many writers share one wait for the disk. One of them, the leader, forces the log for all that have appended by then;
 * the others park. When the force is done the leader wakes all whom it covers at once, and one of those who came meanwhile
 * leads the next force. Nobody takes a lock on the way out, so a writer that is covered never waits for a force that it does
 * not need.
 */
final class GroupCommit {

    /** What the leader does. */
    interface Force {
        /**
         * Forces the log.
         *
         * @param isShared whether the force before covered several writers
         * @return position up to which it is on disk
         */
        long run(boolean isShared) throws IOException;
    }

    /** A writer that waits. Each thread has one and uses it again and again. */
    private static final class Waiter {

        private final Thread thread = Thread.currentThread();
        private long upTo;
        private Waiter next;
        private volatile Turn turn;

        private void prepare(long position) {
            upTo = position;
            turn = Turn.NONE;
        }

        /** For another thread. The waiter may be in use again as soon as this is called. */
        private void wake(Turn what) {
            Thread woken = thread;
            turn = what;
            LockSupport.unpark(woken);
        }

        /** Waits for its turn; an interrupt is kept for the caller. */
        private Turn await() {
            boolean interrupted = false;
            while (turn == Turn.NONE) {
                LockSupport.park(this);
                interrupted |= Thread.interrupted();
            }
            if (interrupted) {
                thread.interrupt();
            }
            return turn;
        }
    }

    /** What a waiter is woken for. */
    private enum Turn {
        NONE, DONE, LEADS
    }

    private static final ThreadLocal<Waiter> WAITER = ThreadLocal.withInitial(Waiter::new);

    /** In any order: whoever is not covered by a force is by the next one. */
    private final AtomicReference<Waiter> waiting = new AtomicReference<>();
    private final AtomicBoolean led = new AtomicBoolean();
    private volatile long done;
    private volatile IOException broken;
    /** Writers that the last force covered. Belongs to the leader. */
    private int covered;

    /** Position up to which the log is on disk. */
    long done() {
        return done;
    }

    /** Whether anybody waits for the next force. */
    boolean hasWaiters() {
        return waiting.get() != null;
    }

    /**
     * Returns when the log is on disk up to a position.
     *
     * @throws IOException if a force failed, now or before; none is tried again
     */
    void await(long upTo, Force force) throws IOException {
        if (done < upTo && !isCoveredByOthers(upTo)) {
            try {
                done = force.run(covered > 1);
            } catch (IOException e) {
                // The kernel may have thrown the bytes away and would say yes the next time.
                broken = e;
            } finally {
                covered = 1;
                handOn();
            }
        }
        if (done < upTo) {
            throw broken;
        }
    }

    /** Returns true when another thread has forced for this one, or failed to, and false when this one is the leader. */
    private boolean isCoveredByOthers(long upTo) {
        if (broken != null) {
            return true;
        }
        if (led.compareAndSet(false, true)) {
            return false;
        }
        Waiter own = WAITER.get();
        own.prepare(upTo);
        push(own);
        if (led.compareAndSet(false, true)) {
            // The leader went meanwhile, perhaps without seeing it.
            handOn();
        }
        return own.await() == Turn.DONE;
    }

    private void push(Waiter waiter) {
        do {
            waiter.next = waiting.get();
        } while (!waiting.compareAndSet(waiter.next, waiter));
    }

    /** Ends the leadership of this thread: one of those who are not covered leads next, and all who are go. */
    private void handOn() {
        Waiter ready = null;
        Waiter leader = null;
        do {
            Waiter waiter = waiting.getAndSet(null);
            while (waiter != null) {
                Waiter next = waiter.next;
                if (waiter.upTo <= done || broken != null) {
                    waiter.next = ready;
                    ready = waiter;
                    covered++;
                } else if (leader == null) {
                    leader = waiter;
                } else {
                    push(waiter);
                }
                waiter = next;
            }
            if (leader == null) {
                led.set(false);
            }
            // Who came before that was set relies on this thread.
        } while (leader == null && waiting.get() != null && led.compareAndSet(false, true));
        if (leader != null) {
            // First, for the disk rests until then.
            leader.wake(Turn.LEADS);
        }
        while (ready != null) {
            Waiter next = ready.next;
            ready.wake(Turn.DONE);
            ready = next;
        }
    }
}
