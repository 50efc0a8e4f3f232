package lab.storage.lsm.background;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** What the background threads need of the system: a low priority, and an end that can be waited for. */
@SuppressWarnings("restricted")
public final class Threads {

    private static final MethodHandle NICE = System.getProperty("os.name").equals("Linux") ? nice() : null;

    private Threads() {
    }

    private static MethodHandle nice() {
        Linker linker = Linker.nativeLinker();
        ValueLayout.OfInt number = ValueLayout.JAVA_INT;
        return linker.defaultLookup().find("nice").map(symbol -> linker.downcallHandle(symbol,
                FunctionDescriptor.of(number, number))).orElse(null);
    }

    /**
     * Lowers the priority of the calling thread below that of the process, and of it alone: on Linux each thread has a nice value of its own. A
     * thread that serves a request then goes first where they share a core. Does nothing elsewhere.
     */
    public static void runInBackground(int by) {
        if (NICE != null) {
            try {
                int ignored = (int) NICE.invokeExact(by);
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Waits until a thread has ended; an interrupt is kept for the caller. */
    public static void joinUninterruptibly(Thread thread) {
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
