package lab.server.execution;

import java.util.Map;

/** Handles a request on the thread that read it: no hand-off, and nothing else is read until it is done. */
final class OnSelector implements Execution {

    @Override
    public boolean execute(Job job) {
        job.handle();
        return true;
    }

    @Override
    public boolean onCaller() {
        return true;
    }

    @Override
    public int queueDepth() {
        return 0;
    }

    @Override
    public long expired() {
        return 0;
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("execution", ExecutionKind.SELECTOR.toString());
    }

    @Override
    public void close() {
        // Has no threads of its own.
    }
}
