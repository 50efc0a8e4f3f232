package lab.storage.lsm;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Counts who uses a thing, in several cells that lie on cache lines of their own, so that readers on different cores do
 * not slow each other down. When the thing was retired and the last user has left, it is given back, once.
 *
 * <p>Why this is right: a user counts itself in and only then looks whether the thing was retired; the owner retires it
 * and only then looks at the cells. So a user whose count the owner did not see saw that it was retired, and left.
 */
class Pins {

    /** Result of {@link #enter()} when it is too late. */
    static final int RETIRED = -1;
    private static final int CELLS = 16;
    /** Two lines of 64 bytes apart, because neighbouring lines are fetched together. */
    private static final int STRIDE = 32;

    private final AtomicIntegerArray cells = new AtomicIntegerArray((CELLS + 1) * STRIDE);
    private final AtomicBoolean givenBack = new AtomicBoolean();
    private final Runnable onLastExit;
    private volatile boolean retired;

    /**
     * @param onLastExit called once, on the thread that leaves last
     */
    Pins(Runnable onLastExit) {
        this.onLastExit = onLastExit;
    }

    /**
     * Begins to use the thing.
     *
     * @return what {@link #exit} wants, or {@link #RETIRED}
     */
    int enter() {
        int cell = ((int) Thread.currentThread().threadId() & CELLS - 1) * STRIDE + STRIDE;
        cells.getAndIncrement(cell);
        if (retired) {
            exit(cell);
            return RETIRED;
        }
        return cell;
    }

    /** Ends the use that {@link #enter()} began, on any thread. */
    void exit(int cell) {
        if (cells.decrementAndGet(cell) == 0 && retired) {
            giveBackIfUnused();
        }
    }

    /** Lets nobody in any more. */
    void retire() {
        retired = true;
        giveBackIfUnused();
    }

    private void giveBackIfUnused() {
        for (int cell = 1; cell <= CELLS; cell++) {
            if (cells.get(cell * STRIDE) != 0) {
                return;
            }
        }
        if (givenBack.compareAndSet(false, true)) {
            onLastExit.run();
        }
    }
}
