package lab.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/** Byte strings in memory segments. */
public final class Bytes {

    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;

    private Bytes() {
    }

    /**
     * Compares as unsigned bytes; a prefix comes before what it is a prefix of.
     *
     * @return negative, zero or positive
     */
    public static int compare(MemorySegment a, MemorySegment b) {
        return compare(a, 0, a.byteSize(), b, 0, b.byteSize());
    }

    /**
     * Compares two parts of segments as unsigned bytes, without making slices of them.
     *
     * @param aFrom first byte of the part of {@code a}
     * @param aTo   byte after the last one of the part of {@code a}
     * @return negative, zero or positive
     */
    public static int compare(MemorySegment a, long aFrom, long aTo, MemorySegment b, long bFrom, long bTo) {
        long at = MemorySegment.mismatch(a, aFrom, aTo, b, bFrom, bTo);
        if (at < 0) {
            return 0;
        }
        if (at == aTo - aFrom) {
            return -1;
        }
        if (at == bTo - bFrom) {
            return 1;
        }
        return (a.get(BYTE, aFrom + at) & 0xff) - (b.get(BYTE, bFrom + at) & 0xff);
    }

    /**
     * The bytes of a segment as an array. It is the array under the segment where the segment is the whole of one, and
     * a copy otherwise; so the caller must not write to it.
     */
    public static byte[] array(MemorySegment segment) {
        if (segment.heapBase().orElse(null) instanceof byte[] base && base.length == segment.byteSize()) {
            return base;
        }
        return segment.toArray(BYTE);
    }

    /** A text as its UTF-8 bytes. */
    public static MemorySegment utf8(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    /** UTF-8 bytes as a text, for messages and tests. */
    public static String text(MemorySegment segment) {
        return new String(segment.toArray(BYTE), StandardCharsets.UTF_8);
    }
}
