package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A clock goes on from where it was, over clean stops and kills, whatever the clock of the machine says. */
class ClockMarkTest {

    private static final long NOON_MICROS = 1_800_000_000_000_000L;
    private static final long HOUR_MICROS = 3_600_000_000L;

    @TempDir
    private Path folder;

    private HybridClock clock(long micros) {
        return new HybridClock(1, () -> micros, ClockMark.open(folder.resolve("clock")));
    }

    @Test
    void clockGoesOnAfterACleanStop() {
        long before;
        try (HybridClock clock = clock(NOON_MICROS)) {
            before = clock.next();
        }
        try (HybridClock back = clock(NOON_MICROS - HOUR_MICROS)) {
            assertEquals(HybridClock.micros(before) + 1, HybridClock.micros(back.next()));
        }
    }

    @Test
    void clockGoesOnAfterAKill() {
        HybridClock killed = clock(NOON_MICROS);
        long stamped = killed.next();
        assertTrue(clock(NOON_MICROS - HOUR_MICROS).next() > stamped);
        long observed = NOON_MICROS + 24 * HOUR_MICROS << 8;
        killed.observe(observed);
        assertTrue(clock(NOON_MICROS).next() > observed, "what another node stamped counts as well");
    }

    @Test
    void damagedMarkIsNotBelievedAndWrittenAnew() throws Exception {
        try (HybridClock clock = clock(NOON_MICROS)) {
            clock.next();
        }
        byte[] bytes = Files.readAllBytes(folder.resolve("clock"));
        bytes[0] ^= 0x40;
        Files.write(folder.resolve("clock"), bytes);
        try (HybridClock clock = clock(HOUR_MICROS)) {
            assertEquals(HOUR_MICROS, HybridClock.micros(clock.next()));
        }
        try (HybridClock clock = clock(0)) {
            assertEquals(HOUR_MICROS + 1, HybridClock.micros(clock.next()));
        }
    }

    @Test
    void clockBeyondAllVersionsSaysSo() {
        HybridClock broken = clock(1L << 60);
        assertTrue(assertThrows(IllegalStateException.class, broken::next).getMessage().contains("Set the clock"));
    }
}
