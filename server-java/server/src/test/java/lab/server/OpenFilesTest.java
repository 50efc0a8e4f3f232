package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A test for which a process may not open enough files is left out, and says what it needs. */
class OpenFilesTest {

    private static final int CONNECTIONS = 10_000;
    private static final int NEEDED = CONNECTIONS + OpenFiles.BESIDES;

    @Test
    void limitThatIsTooLowIsSaidWithWhatIsNeeded() {
        String lack = OpenFiles.lackFor(CONNECTIONS, NEEDED - 1).orElseThrow();
        assertTrue(lack.contains("10000 idle connections need " + NEEDED + " open files"), lack);
        assertTrue(lack.contains("the hard limit here is " + (NEEDED - 1) + "; raise it"), lack);
    }

    @Test
    void limitThatIsEnoughLacksNothing() {
        assertEquals(Optional.empty(), OpenFiles.lackFor(CONNECTIONS, NEEDED));
    }

    @Test
    void limitOfThisProcessIsKnown() {
        assertTrue(OpenFiles.limit() > 0, () -> "limit: " + OpenFiles.limit());
    }
}
