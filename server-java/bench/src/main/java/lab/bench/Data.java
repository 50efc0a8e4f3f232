package lab.bench;

import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Keys and values that every benchmark and every engine gets alike. */
public final class Data {

    /** Bytes of a key. */
    public static final int KEY_BYTES = 16;
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
    private static final int HALF_BYTE = 4;
    private static final long PRESENT = 0x9e3779b97f4a7c15L;
    private static final long ABSENT = 0x5851f42d4c957f2dL;
    private static final double ZIPF_EXPONENT = 0.99;

    private Data() {
    }

    /** The key with this number: sixteen hexadecimal digits, spread evenly over all there are. */
    public static byte[] key(long number) {
        byte[] key = new byte[KEY_BYTES];
        writeKey(number, key);
        return key;
    }

    /** The same into an array of {@link #KEY_BYTES}, for measuring a store without our own garbage. */
    public static void writeKey(long number, byte[] key) {
        digits(mixed(number * PRESENT), key);
    }

    /** A key that is never written, from the midst of those that are. */
    public static byte[] absentKey(long number) {
        byte[] key = new byte[KEY_BYTES];
        digits(mixed(number * ABSENT + 1), key);
        return key;
    }

    /** Finalizer of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
    private static long mixed(long number) {
        long z = number;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    private static void digits(long number, byte[] key) {
        long rest = number;
        for (int at = KEY_BYTES - 1; at >= 0; at--) {
            key[at] = HEX[(int) rest & 0xf];
            rest >>>= HALF_BYTE;
        }
    }

    /** Numbers below {@code n}, in the order in which they are written: each once, shuffled. */
    public static int[] shuffled(int n) {
        int[] order = new int[n];
        for (int i = 0; i < n; i++) {
            order[i] = i;
        }
        Random random = new Random(n);
        for (int i = n - 1; i > 0; i--) {
            int other = random.nextInt(i + 1);
            int swapped = order[i];
            order[i] = order[other];
            order[other] = swapped;
        }
        return order;
    }

    /** Numbers below {@code n} of which few are drawn often (Zipf, exponent 0.99, as YCSB draws them). */
    public static int[] zipfian(int n, int draws, long seed) {
        double[] cumulated = new double[n];
        double sum = 0;
        for (int i = 0; i < n; i++) {
            sum += 1 / Math.pow(i + 1, ZIPF_EXPONENT);
            cumulated[i] = sum;
        }
        Random random = new Random(seed);
        int[] drawn = new int[draws];
        for (int i = 0; i < draws; i++) {
            int at = java.util.Arrays.binarySearch(cumulated, random.nextDouble() * sum);
            drawn[i] = Math.min(n - 1, at < 0 ? -at - 1 : at);
        }
        return drawn;
    }
}
