package lab.storage.lsm.disk;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** Numbers and checksums as the store's files have them: little-endian, at any position, and CRC32C. */
public final class Encoding {

    /** One byte. */
    public static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    /** Four bytes. */
    public static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /** Eight bytes. */
    public static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private static final long CHECKSUM_STEP_BYTES = 1L << 30;

    private Encoding() {
    }

    /** Computes the CRC32C of a part of a segment. */
    public static int checksum(MemorySegment segment, long from, long to) {
        CRC32C crc = new CRC32C();
        for (long at = from; at < to; at += CHECKSUM_STEP_BYTES) {
            crc.update(segment.asSlice(at, Math.min(CHECKSUM_STEP_BYTES, to - at)).asByteBuffer());
        }
        return (int) crc.getValue();
    }
}
