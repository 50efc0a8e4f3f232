package lab.storage.lsm.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import lab.storage.lsm.entry.Keys;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BloomFilterTest {

    private static final int KEYS = 100_000;

    private static long hash(int i) {
        byte[] key = ByteBuffer.allocate(12).putInt(4, i).array();
        return Keys.hash(key, key.length);
    }

    /** Bounds are half as much again as the filter's theory without lines gives. */
    @ParameterizedTest
    @CsvSource({"5, 0.15", "10, 0.015", "16, 0.003"})
    void keepsWhatWasAddedAndLetsFewOthersPass(int bitsPerKey, double mostPassing) {
        try (Arena arena = Arena.ofConfined()) {
            long bytes = BloomFilter.bytes(KEYS, bitsPerKey);
            MemorySegment filter = arena.allocate(bytes);
            int probes = BloomFilter.probes(bitsPerKey);
            for (int i = 0; i < KEYS; i++) {
                BloomFilter.add(filter, 0, bytes, probes, hash(i));
            }
            int passing = 0;
            for (int i = 0; i < KEYS; i++) {
                assertTrue(BloomFilter.mayContain(filter, 0, bytes, probes, hash(i)));
                passing += BloomFilter.mayContain(filter, 0, bytes, probes, hash(KEYS + i)) ? 1 : 0;
            }
            assertTrue(passing <= KEYS * mostPassing, passing + " of " + KEYS + " absent keys passed");
        }
    }

    /** Filters on disk depend on the hash, so it may not change. */
    @Test
    void hashIsTheOneOfTheFormatPage() {
        byte[] key = "a key of nineteen b".getBytes();
        assertEquals(Keys.hash(key, key.length), Keys.hash(java.util.Arrays.copyOf(key, 40), key.length));
        assertEquals(FIXED, Keys.hash(key, key.length));
    }

    private static final long FIXED = 8881559790085577313L;
}
