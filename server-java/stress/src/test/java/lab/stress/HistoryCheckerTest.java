package lab.stress;

import static lab.stress.Operation.Kind.DELETE;
import static lab.stress.Operation.Kind.GET;
import static lab.stress.Operation.Kind.PUT;
import static lab.stress.Operation.Outcome.DONE;
import static lab.stress.Operation.Outcome.NEVER_SENT;
import static lab.stress.Operation.Outcome.REFUSED;
import static lab.stress.Operation.Outcome.UNKNOWN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The checker finds every planted fault and passes every history of a register that has none. */
class HistoryCheckerTest {

    private static final Operation PUT_A = put("a", 0, 10, DONE);
    private static final Operation PUT_B = put("b", 20, 30, DONE);

    private static Operation put(String value, long start, long end, Operation.Outcome outcome) {
        return new Operation(PUT, "k", value, start, end, outcome);
    }

    private static Operation delete(long start, long end, Operation.Outcome outcome) {
        return new Operation(DELETE, "k", null, start, end, outcome);
    }

    private static Operation get(String value, long start, long end) {
        return new Operation(GET, "k", value, start, end, DONE);
    }

    private static void assertFine(Operation... history) {
        assertEquals(List.of(), HistoryChecker.faults(List.of(history)));
    }

    private static void assertFault(String word, Operation... history) {
        List<String> faults = HistoryChecker.faults(List.of(history));
        assertEquals(1, faults.size(), faults.toString());
        assertTrue(faults.getFirst().startsWith(word), faults.getFirst());
    }

    @Test
    void lostWriteIsFound() {
        assertFault("lost", PUT_A, get(null, 11, 12));
        assertFault("lost", PUT_A, PUT_B, get("a", 31, 32));
        assertFault("lost", PUT_A, PUT_B, get(null, 31, 32));
        assertFault("lost", delete(0, 1, DONE), put("b", 2, 3, DONE), get(null, 4, 5));
    }

    @Test
    void resurrectedValueIsFound() {
        assertFault("resurrected", PUT_A, delete(11, 12, DONE), get("a", 13, 14));
        assertFault("resurrected", put("a", 0, 10, REFUSED), delete(11, 12, DONE), get("a", 13, 14));
    }

    @Test
    void valueThatNobodyWroteOrNotYetIsFound() {
        assertFault("invented", get("x", 0, 1));
        assertFault("invented", put("x", 0, 1, NEVER_SENT), get("x", 2, 3));
        assertFault("foreseen", get("a", 0, 5), put("a", 6, 7, DONE));
    }

    @Test
    void whatMayHappenPasses() {
        assertFine(PUT_A, get("a", 11, 12));
        assertFine(PUT_A, put("b", 5, 30, DONE), get("a", 31, 32));
        assertFine(PUT_A, put("b", 20, 30, REFUSED), get("a", 31, 32), get("b", 33, 34), get("a", 35, 36));
        assertFine(put("a", 0, 1, UNKNOWN), PUT_B, get("b", 31, 32), get("a", 40, 41));
        assertFine(PUT_A, delete(11, 12, UNKNOWN), get(null, 13, 14), get("a", 15, 16));
        assertFine(PUT_A, delete(11, 50, DONE), get("a", 20, 60), get(null, 51, 61));
        assertFine(get(null, 0, 1), PUT_A, get(null, 5, 12));
        assertFine(PUT_A, put("b", 20, 21, NEVER_SENT), get("a", 31, 32));
    }

    @Test
    void valueWrittenTwiceIsNoHistory() {
        assertThrows(IllegalArgumentException.class,
                () -> HistoryChecker.faults(List.of(PUT_A, put("a", 20, 30, DONE))));
    }

    /** Operations overlap, each takes effect at one moment within; then one read is made to see what was replaced. */
    @Property(tries = 300)
    void registerPassesAndAPlantedStaleReadIsFound(@ForAll long seed) {
        Random random = new Random(seed);
        List<Operation> history = new ArrayList<>();
        String current = null;
        long now = 0;
        String replaced = null;
        for (int i = 0; i < 60; i++) {
            // Effects are ordered by i; each operation reaches up to two effects back and forth.
            now += 10;
            long start = now - random.nextInt(20);
            long end = now + random.nextInt(20);
            switch (random.nextInt(3)) {
                case 0 -> {
                    replaced = current;
                    current = "v" + i;
                    history.add(put(current, start, end, DONE));
                }
                case 1 -> {
                    replaced = current;
                    current = null;
                    history.add(delete(start, end, DONE));
                }
                default -> history.add(get(current, start, end));
            }
        }
        assertEquals(List.of(), HistoryChecker.faults(history));
        if (replaced != null) {
            history.add(put("last", now + 100, now + 110, DONE));
            history.add(get(replaced, now + 120, now + 130));
            assertEquals(1, HistoryChecker.faults(history).size());
        }
    }
}
