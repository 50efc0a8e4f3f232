package lab.server.execution;

import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;

/**
 * A pool with an unbounded queue whose caller waits for each response, as report 3 had it. Its selectors are held up as
 * long as if they handled the requests themselves, and pay for two hand-offs more. Here to be measured, not to be used.
 */
final class BlockingPool implements Execution {

    private final ExecutorService threads;
    private final int size;

    BlockingPool(int size) {
        this.size = size;
        threads = Executors.newFixedThreadPool(size, new WorkerNames());
    }

    @Override
    public boolean execute(Job job) {
        try {
            threads.submit(job::handle).get();
            return true;
        } catch (ExecutionException e) {
            throw new IllegalStateException("A request got no response: " + e.getCause(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("The thread that waited for a response was interrupted.", e);
        }
    }

    @Override
    public boolean callerWaits() {
        return true;
    }

    @Override
    public int queueDepth() {
        return ((ThreadPoolExecutor) threads).getQueue().size();
    }

    @Override
    public long expired() {
        return 0;
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("execution", ExecutionKind.BLOCKING_POOL.toString(), "pool_threads", size);
    }

    @Override
    public void close() {
        threads.close();
    }
}
