package lab.storage.lsm.background;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that does what takes the kernel milliseconds, so that no reader or writer has to: unmaps and deletes files,
 * prepares the next memtable and log, and reserves room in the current log.
 */
public final class Housekeeper implements Executor, AutoCloseable {

    /** Prepares things before they are needed. */
    public interface Work {
        /** Does what there is to do; returns after how many nanoseconds to be asked again, if nobody asks before. */
        long doNext();
    }

    private static final Logger LOG = LoggerFactory.getLogger(Housekeeper.class);
    private static final long IDLE_NS = 1_000_000_000L;

    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final Thread thread = new Thread(this::run, "lsm-housekeeping");
    private volatile Work work;
    private volatile boolean closing;

    /** Starts the thread. */
    public Housekeeper() {
        thread.setDaemon(true);
        thread.start();
    }

    /** Gives it its regular work. */
    public void begin(Work regular) {
        work = regular;
        wake();
    }

    /** Says that there may be something to do. Costs little; called under locks. */
    public void wake() {
        LockSupport.unpark(thread);
    }

    /** Does something later, on its thread. */
    @Override
    public void execute(Runnable task) {
        if (closing) {
            runTask(task);
            return;
        }
        tasks.add(task);
        wake();
        if (!thread.isAlive()) {
            runTasks();
        }
    }

    private void run() {
        while (!closing) {
            long pauseNs = IDLE_NS;
            try {
                // Writers wait for what is prepared, nobody for the tasks: so it comes first, again after each of them.
                Work regular = work;
                if (regular != null) {
                    pauseNs = Math.min(IDLE_NS, regular.doNext());
                }
            } catch (RuntimeException | Error e) {
                failed("The regular housekeeping failed; it is tried again", e);
            }
            Runnable task = tasks.poll();
            if (task != null) {
                runTask(task);
            }
            if (pauseNs > 0 && tasks.isEmpty() && !closing) {
                LockSupport.parkNanos(pauseNs);
            }
        }
        runTasks();
    }

    /** Nothing may end this thread, not even a lack of memory to say why. */
    private static void failed(String what, Throwable cause) {
        try {
            LOG.error(what, cause);
        } catch (OutOfMemoryError e) {
            // The next attempt says it.
        }
    }

    private void runTasks() {
        for (Runnable task; (task = tasks.poll()) != null; ) {
            runTask(task);
        }
    }

    /** One that fails keeps neither the others nor the close of the store from being done. */
    private static void runTask(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            failed("A task of the housekeeping failed; what it was to free stays in use until the process ends", e);
        }
    }

    /** Does what is left and ends the thread. */
    @Override
    public void close() {
        closing = true;
        wake();
        Threads.joinUninterruptibly(thread);
        runTasks();
    }
}
