package lab.storage.lsm.entry;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Keys as bytes: order, hash, and the first eight bytes as one number, by which most comparisons are decided without
 * touching the key.
 */
public final class Keys {

    /** Size of the largest key. */
    public static final int MAX_BYTES = 64 * 1024;

    private static final VarHandle BIG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LITTLE = MethodHandles.byteArrayViewVarHandle(long[].class,
            ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong BIG_LONG = ValueLayout.JAVA_LONG_UNALIGNED
            .withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final int LONGEST_BY_WORDS = 64;
    private static final long SEED = 0x2d358dccaa6c78a5L;
    private static final long WORD = 0x8bb84b93962eacc9L;
    private static final long TAIL = 0x4b33a62ed433d4a3L;
    private static final long END = 0x4d5a2da51de1aa47L;

    private Keys() {
    }

    /**
     * A hash of 64 bits, all of which may be used. Each eight bytes are mixed in by a multiplication to 128 bits whose
     * halves are combined, as in wyhash (Wang Yi). Filters on disk depend on it: {@code table_format.md} gives it.
     */
    public static long hash(byte[] key, int length) {
        long hash = SEED ^ length;
        int at = 0;
        for (; at + Long.BYTES <= length; at += Long.BYTES) {
            hash = mix(hash ^ (long) LITTLE.get(key, at), WORD);
        }
        if (at < length) {
            long tail = 0;
            for (int i = length - 1; i >= at; i--) {
                tail = tail << Byte.SIZE | key[i] & 0xff;
            }
            hash = mix(hash ^ tail, TAIL);
        }
        return mix(hash, END);
    }

    private static long mix(long a, long b) {
        return a * b ^ Math.unsignedMultiplyHigh(a, b);
    }

    /** Eight bytes from a position on as a number whose unsigned order is theirs; what is missing counts as zeros. */
    public static long prefix(byte[] key, int from, int length) {
        int bytes = length - from;
        if (bytes >= Long.BYTES) {
            return (long) BIG.get(key, from);
        }
        long prefix = 0;
        for (int i = 0; i < Long.BYTES; i++) {
            prefix = prefix << Byte.SIZE | (i < bytes ? key[from + i] & 0xff : 0);
        }
        return prefix;
    }

    /** Copies a few bytes, for which a call into the library costs more than the bytes. */
    public static void copy(MemorySegment source, long from, byte[] target, int to, int length) {
        if (length > LONGEST_BY_WORDS) {
            MemorySegment.copy(source, BYTE, from, target, to, length);
            return;
        }
        int at = 0;
        for (; at + Long.BYTES <= length; at += Long.BYTES) {
            BIG.set(target, to + at, source.get(BIG_LONG, from + at));
        }
        for (; at < length; at++) {
            target[to + at] = source.get(BYTE, from + at);
        }
    }

    /** Order of two keys, of which the first lies in a segment: negative, zero or positive. */
    public static int compare(MemorySegment a, long aFrom, int aLength, byte[] b, int bFrom, int bLength) {
        int common = Math.min(aLength, bLength);
        int at = 0;
        for (; at + Long.BYTES <= common; at += Long.BYTES) {
            long left = a.get(BIG_LONG, aFrom + at);
            long right = (long) BIG.get(b, bFrom + at);
            if (left != right) {
                return Long.compareUnsigned(left, right);
            }
        }
        for (; at < common; at++) {
            int difference = (a.get(BYTE, aFrom + at) & 0xff) - (b[bFrom + at] & 0xff);
            if (difference != 0) {
                return difference;
            }
        }
        return aLength - bLength;
    }

    /** Number of bytes at the start in which two keys are the same. */
    public static int shared(MemorySegment a, long aFrom, int aLength, byte[] b, int bFrom, int bLength) {
        int common = Math.min(aLength, bLength);
        int at = 0;
        for (; at + Long.BYTES <= common; at += Long.BYTES) {
            long difference = a.get(BIG_LONG, aFrom + at) ^ (long) BIG.get(b, bFrom + at);
            if (difference != 0) {
                return at + Long.numberOfLeadingZeros(difference) / Byte.SIZE;
            }
        }
        while (at < common && a.get(BYTE, aFrom + at) == b[bFrom + at]) {
            at++;
        }
        return at;
    }
}
