import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** Collects garbage about each half second, with a heap that is kept, and prints when: System.nanoTime, a line each. */
public class Collecting {
    private static final int KEPT = 1_500_000;

    public static void main(String[] arguments) throws InterruptedException {
        RandomGenerator chance = RandomGenerator.of("L64X128MixRandom");
        List<long[]> kept = new ArrayList<>();
        for (int i = 0; i < KEPT; i++) {
            kept.add(new long[] {i});
        }
        long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        while (System.nanoTime() < end) {
            Thread.sleep(chance.nextInt(400, 600));
            long begin = System.nanoTime();
            System.gc();
            System.out.println(begin + " " + System.nanoTime());
        }
        if (kept.size() != KEPT) {
            throw new AssertionError();
        }
    }
}
