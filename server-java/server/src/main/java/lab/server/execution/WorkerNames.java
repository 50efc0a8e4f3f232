package lab.server.execution;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Numbers the threads of a pool, so that profiles and dumps tell them apart. */
final class WorkerNames implements ThreadFactory {

    private final AtomicInteger count = new AtomicInteger();

    @Override
    public Thread newThread(Runnable work) {
        return new Thread(work, "worker-" + count.incrementAndGet());
    }
}
