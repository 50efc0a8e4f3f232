package lab.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;

/**
 * Values that cannot be packed, so that engines with and without compression store the same bytes. Of the keys of a
 * block hardly two have the same one: were they all the same, a packed block would hold it once. They are made once, parts
 * of one piece of memory, so that giving one costs no engine anything, no collection of garbage either.
 */
public final class Values {

    /** Fits into a core's cache, and yet the few values of one block hardly overlap. */
    private static final int POOL_BYTES = 256 * 1024;
    private static final int STEP = 7_919;
    private static final int COUNT = 4_096;

    /** Outside the heap: no engine needs a copy to pass it on, RocksDB none for JNI. */
    private final MemorySegment[] values = new MemorySegment[COUNT];
    private final int bytes;

    /**
     * @param bytes of each value
     */
    public Values(int bytes) {
        byte[] random = new byte[POOL_BYTES + bytes];
        new Random(bytes).nextBytes(random);
        MemorySegment pool = Arena.global().allocate(random.length).copyFrom(MemorySegment.ofArray(random));
        for (int number = 0; number < COUNT; number++) {
            values[number] = pool.asSlice(number * STEP & POOL_BYTES - 1, bytes);
        }
        this.bytes = bytes;
    }

    /** The value of the key with this number. */
    public MemorySegment of(int number) {
        return values[number & COUNT - 1];
    }

    /** Bytes of each. */
    public int bytes() {
        return bytes;
    }
}
