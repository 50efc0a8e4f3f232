package lab.storage.lsm.background;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What writers wait for does not wait for what nobody waits for. */
class HousekeeperTest {

    private static final int TASKS = 5;

    @Test
    void preparesAgainAfterEachTask() throws InterruptedException {
        List<String> done = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch all = new CountDownLatch(TASKS);
        try (Housekeeper housekeeper = new Housekeeper()) {
            housekeeper.execute(() -> {
                begun.countDown();
                awaitUninterruptibly(gate);
            });
            begun.await();
            for (int i = 0; i < TASKS; i++) {
                housekeeper.execute(() -> {
                    done.add("task");
                    all.countDown();
                });
            }
            housekeeper.begin(() -> {
                if (all.getCount() > 0) {
                    done.add("prepare");
                }
                return Long.MAX_VALUE;
            });
            gate.countDown();
            all.await();
        }
        for (int i = 0; i < TASKS; i++) {
            assertEquals(List.of("prepare", "task"), done.subList(2 * i, 2 * i + 2), done.toString());
        }
    }

    @Test
    void taskThatFailsTakesNoOtherWithIt() throws InterruptedException {
        List<String> done = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch closing = new CountDownLatch(1);
        Housekeeper housekeeper = new Housekeeper();
        housekeeper.execute(() -> {
            begun.countDown();
            awaitUninterruptibly(closing);
        });
        begun.await();
        for (int i = 0; i < TASKS; i++) {
            housekeeper.execute(HousekeeperTest::fail);
            housekeeper.execute(() -> done.add("task"));
        }
        Thread closer = Thread.ofPlatform().start(() -> assertDoesNotThrow(() -> {
            housekeeper.close();
            done.add("closed");
        }));
        while (closer.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        closing.countDown();
        closer.join();
        List<String> all = new ArrayList<>(Collections.nCopies(TASKS, "task"));
        all.add("closed");
        assertEquals(all, done);
    }

    @Test
    void taskThatFailsAfterTheEndDoesNotReachWhoGaveIt() {
        Housekeeper housekeeper = new Housekeeper();
        housekeeper.close();
        assertDoesNotThrow(() -> housekeeper.execute(HousekeeperTest::fail));
    }

    private static void fail() {
        throw new IllegalStateException("injected");
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
