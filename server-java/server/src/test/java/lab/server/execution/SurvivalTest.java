package lab.server.execution;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests whose failures nobody handles cost no thread, no room and no one who looks at the deadline. */
class SurvivalTest {

    private static final int FAILURES = 20;
    private static final int PATIENCE_S = 60;
    private static final int SHORT_DEADLINE_MS = 5;

    private static void await(CountDownLatch latch) throws InterruptedException {
        assertTrue(latch.await(PATIENCE_S, TimeUnit.SECONDS), "it never came");
    }

    @ParameterizedTest
    @EnumSource(QueueKind.class)
    void workersOfAPoolOutliveErrors(QueueKind queue) throws Exception {
        try (Execution execution = ExecutionKind.POOL.create(new ExecutionSettings(2, queue, 100, 0))) {
            outlivesErrors(execution);
        }
    }

    @Test
    void virtualThreadsOutliveErrors() throws Exception {
        try (Execution execution = ExecutionKind.VIRTUAL.create(new ExecutionSettings(2, QueueKind.ARRAY, 100, 0))) {
            outlivesErrors(execution);
        }
    }

    private static void outlivesErrors(Execution execution) throws InterruptedException {
        for (int i = 0; i < FAILURES; i++) {
            assertTrue(execution.execute(new Request(() -> {
                throw new OutOfMemoryError("planned");
            }, () -> { })));
        }
        CountDownLatch served = new CountDownLatch(1);
        assertTrue(execution.execute(new Request(served::countDown, () -> { })));
        await(served);
    }

    @ParameterizedTest
    @ValueSource(strings = {"POOL", "VIRTUAL"})
    void whoLooksForLateRequestsOutlivesErrorsAndGivesTheirRoomBack(String kind) throws Exception {
        CountDownLatch letGo = new CountDownLatch(1);
        CountDownLatch held = new CountDownLatch(1);
        // Virtual threads count the request that is held, a pool does not.
        int room = kind.equals("POOL") ? 1 : 2;
        try (Execution execution = ExecutionKind.valueOf(kind).create(
                new ExecutionSettings(1, QueueKind.ARRAY, room, SHORT_DEADLINE_MS))) {
            try {
                // Not late itself, however long its thread takes to start on a busy machine: then who looks for late
                // requests would be held in its place.
                execution.execute(new Request(() -> spin(held, letGo), () -> { }) {
                    @Override
                    public long waitsSince() {
                        return System.nanoTime();
                    }
                });
                await(held);
                // Not a number of requests: a carrier that the JVM still has from another test may take some in time.
                while (execution.expired() < FAILURES) {
                    CountDownLatch ended = new CountDownLatch(1);
                    Request request = new Request(ended::countDown, () -> {
                        ended.countDown();
                        throw new OutOfMemoryError("planned");
                    });
                    // Its room is given back a little after it was found late.
                    while (!execution.execute(request)) {
                        Thread.onSpinWait();
                    }
                    await(ended);
                }
            } finally {
                letGo.countDown();
            }
        }
    }

    /** Holds a carrier too: a virtual thread that waited would leave it to others. */
    private static void spin(CountDownLatch held, CountDownLatch letGo) {
        held.countDown();
        while (letGo.getCount() > 0) {
            Thread.onSpinWait();
        }
    }

    /** A request that is handled or found late. */
    private static class Request implements Job {

        private final Runnable work;
        private final Runnable late;
        private volatile long sinceNanos;

        Request(Runnable work, Runnable late) {
            this.work = work;
            this.late = late;
        }

        @Override
        public void handle() {
            work.run();
        }

        @Override
        public void expire() {
            late.run();
        }

        @Override
        public void refuse() {
            throw new AssertionError("The caller refuses.");
        }

        @Override
        public void waitsSince(long nanos) {
            sinceNanos = nanos;
        }

        @Override
        public long waitsSince() {
            return sinceNanos;
        }
    }
}
