package lab.storage.lsm;

import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock for sections of less than a microsecond: whoever comes second looks again for a moment before it goes to sleep,
 * for being woken costs a hundred times the section.
 */
final class WriteLock {

    private static final int LOOKS = Runtime.getRuntime().availableProcessors() > 1 ? 200 : 0;

    private final ReentrantLock lock = new ReentrantLock();

    void lock() {
        for (int i = 0; i < LOOKS; i++) {
            if (lock.tryLock()) {
                return;
            }
            Thread.onSpinWait();
        }
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }
}
