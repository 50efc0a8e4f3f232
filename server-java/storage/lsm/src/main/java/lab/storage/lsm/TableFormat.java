package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** Constants and encodings of a table file; {@code table_format.md} explains them. */
final class TableFormat {

    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** "LABTABLE" read as a little-endian number. */
    static final long MAGIC = 0x454c42415442414cL;
    static final int VERSION = 1;

    /** A block is closed once it has this many bytes; one entry may make it larger. */
    static final int BLOCK_BYTES = 4096;

    /** Length field of a delete. */
    static final int TOMBSTONE = -1;

    static final int ENTRY_HEADER_BYTES = 8;
    /** Entry count and checksum at the end of a block, after the entry offsets. */
    static final int BLOCK_TAIL_BYTES = 8;

    static final int FOOTER_BYTES = 64;
    static final int FOOTER_INDEX_OFFSET = 0;
    static final int FOOTER_INDEX_LENGTH = 8;
    static final int FOOTER_ENTRIES = 16;
    static final int FOOTER_TOMBSTONES = 24;
    static final int FOOTER_BLOCKS = 32;
    static final int FOOTER_INDEX_CHECKSUM = 40;
    static final int FOOTER_FORMAT_VERSION = 44;
    static final int FOOTER_RESERVED = 48;
    static final int FOOTER_CHECKSUM = 52;
    static final int FOOTER_MAGIC = 56;

    /** Largest key. */
    static final int MAX_KEY_BYTES = 64 * 1024;

    private static final long CHECKSUM_STEP_BYTES = 1L << 30;

    private TableFormat() {
    }

    /** CRC32C of a part of a segment. */
    static int checksum(MemorySegment segment, long from, long to) {
        CRC32C crc = new CRC32C();
        for (long at = from; at < to; at += CHECKSUM_STEP_BYTES) {
            crc.update(segment.asSlice(at, Math.min(CHECKSUM_STEP_BYTES, to - at)).asByteBuffer());
        }
        return (int) crc.getValue();
    }
}
