package lab.storage.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** How long a test runs: short by default, as long as the project promises with {@code LAB_LONG=1} in the environment. */
public final class Length {

    /** Whether the long form of the tests is wanted. */
    public static final boolean LONG = "1".equals(System.getenv("LAB_LONG"));

    private Length() {
    }

    /** The count of this run. */
    public static int of(int shortCount, int longCount) {
        return LONG ? longCount : shortCount;
    }

    /** Leaves a test to the long form; the count of those that were is printed. */
    public static void assumeLong() {
        assumeTrue(LONG, "make test-long runs it");
    }
}
