package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What is leased is given back once, after the last user has left, and nobody gets in afterwards. */
class PinsTest {

    private static final int ROUNDS = 20_000;

    private static final class Thing {
        private final AtomicInteger ends = new AtomicInteger();
        private final Pins pins = new Pins(ends::incrementAndGet);
    }

    @Test
    void isGivenBackWithTheLastUser() {
        Thing thing = new Thing();
        int held = thing.pins.enter();
        thing.pins.retire();
        assertEquals(0, thing.ends.get());
        assertEquals(Pins.RETIRED, thing.pins.enter());
        thing.pins.exit(held);
        assertEquals(1, thing.ends.get());
    }

    @Test
    void neverEndsUnderAUser() throws Exception {
        AtomicReference<Thing> current = new AtomicReference<>(new Thing());
        List<Thing> all = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
            List<Future<Integer>> readers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                readers.add(threads.submit(() -> read(current)));
            }
            for (int round = 0; round < ROUNDS; round++) {
                Thing next = new Thing();
                all.add(current.get());
                current.getAndSet(next).pins.retire();
            }
            Thing last = current.getAndSet(null);
            last.pins.retire();
            all.add(last);
            for (Future<Integer> reader : readers) {
                assertTrue(reader.get() >= 0);
            }
        }
        all.forEach(thing -> assertEquals(1, thing.ends.get()));
    }

    private static int read(AtomicReference<Thing> current) {
        int reads = 0;
        for (Thing thing = current.get(); thing != null; thing = current.get()) {
            int held = thing.pins.enter();
            if (held != Pins.RETIRED) {
                assertEquals(0, thing.ends.get(), "ended while it was used");
                Thread.onSpinWait();
                assertFalse(thing.ends.get() != 0, "ended while it was used");
                thing.pins.exit(held);
                reads++;
            }
        }
        return reads;
    }
}
