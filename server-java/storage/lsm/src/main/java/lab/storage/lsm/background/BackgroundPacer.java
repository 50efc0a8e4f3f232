package lab.storage.lsm.background;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;

/**
 * Makes background work give way. On a core that it shares with the threads that serve requests, a flush in one piece
 * holds them up for as long as it takes; cut into small pieces with rests between them it is not felt. It stops resting
 * when somebody waits for it.
 */
public final class BackgroundPacer {

    private static final int STEP_BYTES = 32 * 1024;
    private static final long LONGEST_REST_NS = 10_000_000;
    private static final double NS_PER_S = 1e9;

    private final long bytesPerSecond;
    private final int restsPerWork;
    private final BooleanSupplier hurry;
    private final LongConsumer progress;
    private final long startedNs = System.nanoTime();
    private long sliceNs = startedNs;
    private long earlierFiles;
    private long position;
    private long nextStep = STEP_BYTES;

    /**
     * @param bytesPerSecond no more than this; 0 for no limit
     * @param restsPerWork   rests so many times as long as it worked
     * @param hurry          whether somebody waits for the work, so that it must not rest
     * @param progress       given the bytes written so far, after each piece
     */
    public BackgroundPacer(long bytesPerSecond, int restsPerWork, BooleanSupplier hurry, LongConsumer progress) {
        this.bytesPerSecond = bytesPerSecond;
        this.restsPerWork = restsPerWork;
        this.hurry = hurry;
        this.progress = progress;
    }

    /**
     * Called after each entry; rests when it is time.
     *
     * @param bytesOfFile bytes written to the current file
     */
    public void step(long bytesOfFile) {
        position = bytesOfFile;
        if (bytesOfFile < nextStep) {
            return;
        }
        nextStep = bytesOfFile + STEP_BYTES;
        progress.accept(earlierFiles + bytesOfFile);
        long now = System.nanoTime();
        long rest = hurry.getAsBoolean() ? 0 : Math.min(LONGEST_REST_NS, (now - sliceNs) * restsPerWork);
        if (bytesPerSecond > 0) {
            long due = startedNs + (long) ((earlierFiles + bytesOfFile) * NS_PER_S / bytesPerSecond);
            rest = Math.max(rest, due - now);
        }
        if (rest > 0) {
            LockSupport.parkNanos(rest);
        }
        sliceNs = System.nanoTime();
    }

    /** Says that the next step begins another file. */
    public void endOfFile() {
        earlierFiles += position;
        position = 0;
        nextStep = STEP_BYTES;
    }
}
