package lab.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;

/**
 * Values that cannot be packed, so that engines with and without compression store the same bytes. Each key has another
 * one: were they all the same, a packed block would hold it once. They are parts of one array, so that making one costs
 * no engine anything.
 */
public final class Values {

    /** Fits into a core's cache, and yet the few values of one block hardly overlap. */
    private static final int POOL_BYTES = 256 * 1024;
    private static final int STEP = 7_919;

    /** Outside the heap: no engine needs a copy to pass it on, RocksDB none for JNI. */
    private final MemorySegment pool;
    private final int bytes;

    /**
     * @param bytes of each value
     */
    public Values(int bytes) {
        byte[] random = new byte[POOL_BYTES + bytes];
        new Random(bytes).nextBytes(random);
        this.pool = Arena.global().allocate(random.length).copyFrom(MemorySegment.ofArray(random));
        this.bytes = bytes;
    }

    /** The value of the key with this number. */
    public MemorySegment of(int number) {
        return pool.asSlice(number * STEP & POOL_BYTES - 1, bytes);
    }

    /** Bytes of each. */
    public int bytes() {
        return bytes;
    }
}
