package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * How a replica stores a value, and how nodes send it to each other: eight bytes of version, highest first, one byte that
 * is 0 for a value and 1 for a tombstone, then the bytes of the value.
 *
 * <p>What is shorter than the prefix is a value without a version, older than every other. Only the engine {@code noop}
 * has such ones.
 */
final class StampedRecord {

    /** Bytes before the value. */
    static final int PREFIX_BYTES = 9;
    /** Of a key that a replica has never seen, and of a value without a version. */
    static final long NO_VERSION = 0;

    private static final ValueLayout.OfLong VERSION =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int FLAG_AT = 8;
    private static final byte VALUE = 0;
    private static final byte TOMBSTONE = 1;

    private StampedRecord() {
    }

    /** A record with a copy of a value. */
    static byte[] ofValue(long version, MemorySegment value) {
        byte[] record = new byte[(int) (PREFIX_BYTES + value.byteSize())];
        MemorySegment.ofArray(record).set(VERSION, 0, version);
        record[FLAG_AT] = VALUE;
        MemorySegment.copy(value, ValueLayout.JAVA_BYTE, 0, record, PREFIX_BYTES, (int) value.byteSize());
        return record;
    }

    /** A record that says that there is no value since a version. */
    static byte[] ofTombstone(long version) {
        byte[] record = new byte[PREFIX_BYTES];
        MemorySegment.ofArray(record).set(VERSION, 0, version);
        record[FLAG_AT] = TOMBSTONE;
        return record;
    }

    /** A copy of a record with another version. */
    static byte[] restamped(byte[] record, long version) {
        byte[] copy = record.clone();
        MemorySegment.ofArray(copy).set(VERSION, 0, version);
        return copy;
    }

    private static boolean isPlain(MemorySegment record) {
        return record.byteSize() < PREFIX_BYTES;
    }

    static long version(MemorySegment record) {
        return isPlain(record) ? NO_VERSION : record.get(VERSION, 0);
    }

    static boolean isTombstone(MemorySegment record) {
        return !isPlain(record) && record.get(ValueLayout.JAVA_BYTE, FLAG_AT) == TOMBSTONE;
    }

    /** The bytes of the value, where they lie. */
    static MemorySegment value(MemorySegment record) {
        return isPlain(record) ? record : record.asSlice(PREFIX_BYTES);
    }
}
