package lab.server.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Every request is handled once, whatever the others do, and a thread of its own is only for those that wait. */
class VirtualThreadsTest {

    private static final int MANY = 1_000;
    private static final long PATIENCE_S = 60;
    /** So long that no test waits for it; the one who looks for late requests looks four times in it. */
    private static final int LONG_DEADLINE_MS = 600_000;
    private static final int SHORT_DEADLINE_MS = 5;

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
            // For a moment after it was handled a request counts as one that waits.
            long patience = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
            while (execution.queueDepth() > 0) {
                assertTrue(System.nanoTime() < patience, "requests that are under way count as waiting");
            }
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
            execution.execute(new Work(() -> spinUntil(handedIn)));
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

    @Test
    void everyRequestIsAskedForItsDeadlineThoughItsThreadGoesOnFromAnother() {
        AtomicBoolean handedIn = new AtomicBoolean();
        Set<Thread> used = ConcurrentHashMap.newKeySet();
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<Integer> expired = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch all = new CountDownLatch(MANY);
        try (VirtualThreads execution = threadsWithDeadline(1, LONG_DEADLINE_MS)) {
            execution.execute(new Timed(() -> spinUntil(handedIn), () -> { }));
            for (int i = 0; i < MANY; i++) {
                int number = i;
                execution.execute(new Timed(() -> served.add(number), () -> expired.add(number), used, all) {
                    @Override
                    public void waitsSince(long nanos) {
                        // Late from the first moment on, for another carrier may take it at once.
                        super.waitsSince(nanos - TimeUnit.MILLISECONDS.toNanos(number % 2 == 0 ? LONG_DEADLINE_MS : 0));
                    }
                });
            }
            handedIn.set(true);
            await(all);
            assertEquals(MANY / 2, execution.expired());
        }
        assertEquals(MANY / 2, served.size());
        assertTrue(served.stream().allMatch(number -> number % 2 == 1));
        assertTrue(expired.stream().allMatch(number -> number % 2 == 0));
        assertTrue(used.stream().allMatch(Thread::isVirtual));
        assertTrue(used.size() < MANY / 10, used.size() + " threads for " + MANY + " requests");
    }

    @Test
    void whoWaitsTooLongIsRefusedAlthoughEveryCarrierIsHeldUpAndLeavesRoomForOthers() {
        AtomicBoolean letGo = new AtomicBoolean();
        CountDownLatch held = new CountDownLatch(1);
        AtomicInteger refused = new AtomicInteger();
        CountDownLatch served = new CountDownLatch(1);
        try (VirtualThreads execution =
                new VirtualThreads(new ExecutionSettings(1, QueueKind.ARRAY, 3, SHORT_DEADLINE_MS))) {
            try {
                execution.execute(new Timed(() -> {
                    held.countDown();
                    spinUntil(letGo);
                }, () -> { }) {
                    @Override
                    public long waitsSince() {
                        // Not late itself, however long its thread takes to start on a busy machine.
                        return System.nanoTime();
                    }
                });
                await(held);
                // A second carrier that the JVM had for the test before may still take one in time; then another waits.
                long patience = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
                while (refused.get() < 2) {
                    assertTrue(System.nanoTime() < patience, () -> refused.get() + " were refused");
                    execution.execute(new Timed(() -> { }, refused::incrementAndGet));
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                }
            } finally {
                letGo.set(true);
            }
            while (!execution.execute(new Timed(served::countDown, served::countDown))) {
                Thread.onSpinWait();
            }
            await(served);
            assertTrue(execution.expired() >= 2, () -> execution.expired() + " expired");
        }
    }

    private static VirtualThreads threadsWithDeadline(int carriers, int deadlineMs) {
        return new VirtualThreads(new ExecutionSettings(carriers, QueueKind.ARRAY, 2 * MANY, deadlineMs));
    }

    private static void spinUntil(AtomicBoolean flag) {
        while (!flag.get()) {
            Thread.onSpinWait();
        }
    }

    /** A request with a time from which it waits. */
    private static class Timed extends Work {

        private final Runnable tellsItIsLate;
        private volatile long sinceNanos;

        Timed(Runnable work, Runnable tellsItIsLate) {
            super(work);
            this.tellsItIsLate = tellsItIsLate;
        }

        /** Remembers the thread, and counts itself however it ends. */
        Timed(Runnable work, Runnable tellsItIsLate, Set<Thread> used, CountDownLatch all) {
            this(noting(work, used, all), noting(tellsItIsLate, used, all));
        }

        private static Runnable noting(Runnable work, Set<Thread> used, CountDownLatch all) {
            return () -> {
                used.add(Thread.currentThread());
                work.run();
                all.countDown();
            };
        }

        @Override
        public void expire() {
            tellsItIsLate.run();
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
