package lab.server.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Every request is handled once, whatever the others do, and a thread of its own is only for those that wait. */
class VirtualThreadsTest {

    private static final int MANY = 1_000;
    private static final long PATIENCE_S = 20;

    private static VirtualThreads threads(int carriers, int queueSize) {
        return new VirtualThreads(new ExecutionSettings(carriers, QueueKind.ARRAY, queueSize, 0));
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(PATIENCE_S, TimeUnit.SECONDS), () -> latch.getCount() + " never came");
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void everyRequestIsHandledOnceWhoeverHandsItInAndHoweverItEnds() throws Exception {
        int submitters = 4;
        AtomicIntegerArray handled = new AtomicIntegerArray(submitters * MANY);
        CountDownLatch all = new CountDownLatch(handled.length());
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> assertEquals("planned", e.getMessage()));
        try (VirtualThreads execution = threads(2, handled.length())) {
            List<Thread> started = new ArrayList<>();
            for (int submitter = 0; submitter < submitters; submitter++) {
                int first = submitter * MANY;
                started.add(Thread.ofPlatform().start(() -> {
                    for (int i = first; i < first + MANY; i++) {
                        assertTrue(execution.execute(new Planned(i, handled, all)));
                    }
                }));
            }
            for (Thread submitter : started) {
                submitter.join();
            }
            await(all);
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(before);
        }
        for (int i = 0; i < handled.length(); i++) {
            assertEquals(1, handled.get(i), "request " + i);
        }
    }

    @Test
    void requestsThatWaitHoldNobodyUp() {
        CountDownLatch letGo = new CountDownLatch(1);
        CountDownLatch waiting = new CountDownLatch(MANY);
        CountDownLatch served = new CountDownLatch(1);
        try (VirtualThreads execution = threads(1, 2 * MANY)) {
            for (int i = 0; i < MANY; i++) {
                execution.execute(new Work(() -> {
                    waiting.countDown();
                    await(letGo);
                }));
            }
            await(waiting);
            execution.execute(new Work(served::countDown));
            await(served);
            assertEquals(0, execution.queueDepth());
            letGo.countDown();
        }
    }

    @Test
    void requestsThatNeverWaitShareThreads() {
        Set<Thread> used = ConcurrentHashMap.newKeySet();
        CountDownLatch all = new CountDownLatch(MANY);
        AtomicBoolean handedIn = new AtomicBoolean();
        try (VirtualThreads execution = threads(1, 2 * MANY)) {
            // Keeps its carrier until the others are there.
            execution.execute(new Work(() -> {
                while (!handedIn.get()) {
                    Thread.onSpinWait();
                }
            }));
            for (int i = 0; i < MANY; i++) {
                execution.execute(new Work(() -> {
                    used.add(Thread.currentThread());
                    all.countDown();
                }));
            }
            handedIn.set(true);
            await(all);
        }
        assertTrue(used.stream().allMatch(Thread::isVirtual));
        assertTrue(used.size() < MANY / 10, used.size() + " threads for " + MANY + " requests");
    }

    @Test
    void boundCountsThoseWhoWaitAndThoseWhoAreHandled() {
        CountDownLatch letGo = new CountDownLatch(1);
        try (VirtualThreads execution = threads(1, 2)) {
            Job job = new Work(() -> await(letGo));
            assertTrue(execution.execute(job));
            assertTrue(execution.execute(job));
            assertFalse(execution.execute(job));
            letGo.countDown();
        }
    }

    /** Returns, waits, gives way or fails, by its number. */
    private static final class Planned extends Work {

        Planned(int number, AtomicIntegerArray handled, CountDownLatch all) {
            super(() -> {
                handled.incrementAndGet(number);
                all.countDown();
                switch (number % 5) {
                    case 0 -> LockSupport.parkNanos(50_000);
                    case 1 -> Thread.yield();
                    case 2 -> throw new IllegalStateException("planned");
                    default -> { }
                }
            });
        }
    }

    /** A request that is only handled. */
    private static class Work implements Job {

        private final Runnable work;

        Work(Runnable work) {
            this.work = work;
        }

        @Override
        public void handle() {
            work.run();
        }

        @Override
        public void expire() {
            throw new AssertionError("There is no deadline.");
        }

        @Override
        public void refuse() {
            throw new AssertionError("The caller refuses.");
        }

        @Override
        public void waitsSince(long nanos) {
            throw new AssertionError("There is no deadline.");
        }

        @Override
        public long waitsSince() {
            throw new AssertionError("There is no deadline.");
        }
    }
}
