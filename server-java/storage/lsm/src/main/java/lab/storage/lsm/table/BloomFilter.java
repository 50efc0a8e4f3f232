package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.LONG;

import java.lang.foreign.MemorySegment;

/**
 * A Bloom filter whose bits for one key lie in one line of 64 bytes (Putze, Sanders, Singler: Cache-, Hash- and
 * Space-Efficient Bloom Filters, 2007), so that a question costs one cache miss. With 10 bits a key about 1 % of absent
 * keys pass.
 */
final class BloomFilter {

    static final int LINE_BYTES = 64;
    private static final int LINE_BITS = LINE_BYTES * Byte.SIZE;
    private static final int BITS_OF_A_PLACE = 9;
    private static final int GOLDEN = 0x9e3779b9;
    private static final double PROBES_PER_BIT = 0.6;
    private static final int MAX_PROBES = 12;

    private BloomFilter() {
    }

    /** Bytes of a filter for so many keys. */
    static long bytes(long keys, int bitsPerKey) {
        return Math.max(1, (keys * bitsPerKey + LINE_BITS - 1) / LINE_BITS) * LINE_BYTES;
    }

    /** Bits to set for each key: fewer than the ln 2 a bit of a filter without lines, whose bits spread better. */
    static int probes(int bitsPerKey) {
        return Math.clamp(Math.round(bitsPerKey * PROBES_PER_BIT), 1, MAX_PROBES);
    }

    /** Adds a key by its hash. */
    static void add(MemorySegment filter, long offset, long bytes, int probes, long hash) {
        long line = line(offset, bytes, hash);
        int places = (int) hash;
        for (int i = 0; i < probes; i++) {
            long at = word(line, places);
            filter.set(LONG, at, filter.get(LONG, at) | 1L << (places >>> (Integer.SIZE - BITS_OF_A_PLACE)));
            places *= GOLDEN;
        }
    }

    /** False if a key with this hash was never added. */
    static boolean mayContain(MemorySegment filter, long offset, long bytes, int probes, long hash) {
        long line = line(offset, bytes, hash);
        int places = (int) hash;
        for (int i = 0; i < probes; i++) {
            if ((filter.get(LONG, word(line, places)) >>> (places >>> (Integer.SIZE - BITS_OF_A_PLACE)) & 1) == 0) {
                return false;
            }
            places *= GOLDEN;
        }
        return true;
    }

    private static long line(long offset, long bytes, long hash) {
        return offset + Math.unsignedMultiplyHigh(hash, bytes / LINE_BYTES) * LINE_BYTES;
    }

    /** The top three of the nine bits choose the word, the rest the bit in it; a shift takes only the lowest six. */
    private static long word(long line, int places) {
        return line + (long) (places >>> (Integer.SIZE - 3)) * Long.BYTES;
    }
}
