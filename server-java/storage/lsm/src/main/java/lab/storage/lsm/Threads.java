package lab.storage.lsm;

/** Waiting for threads. */
final class Threads {

    private Threads() {
    }

    /** Waits until a thread has ended; an interrupt is kept for the caller. */
    static void joinUninterruptibly(Thread thread) {
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
