package lab.stress.store;

/** How long a test runs: short by default, as long as the project promises with {@code LAB_LONG=1} in the environment. */
public final class Length {

    private Length() {
    }

    /** The count of this run. */
    public static int of(int shortCount, int longCount) {
        return "1".equals(System.getenv("LAB_LONG")) ? longCount : shortCount;
    }
}
