package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import lab.server.api.Body;
import lab.storage.Cursor;

/**
 * A range as another node wants it: for each record the length of its key and its own, four bytes each, highest first,
 * then key and record; a length of 0 at the end, without which it is not whole.
 */
final class RecordsBody implements Body {

    /** How lengths are written. */
    static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    /** Bytes before a key. */
    static final int HEAD_BYTES = 2 * Integer.BYTES;

    private static final int PARTS = 3;

    private final Cursor records;
    private final MemorySegment head = MemorySegment.ofArray(new byte[HEAD_BYTES]);
    private final MemorySegment[] parts = new MemorySegment[PARTS];
    private int part = PARTS;
    private long partRead;
    private boolean ended;

    /**
     * @param records closed with this body
     */
    RecordsBody(Cursor records) {
        this.records = records;
    }

    @Override
    public long length() {
        return UNKNOWN_LENGTH;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) {
        int filled = 0;
        while (filled < length && (part < PARTS || startRecord())) {
            int bytes = (int) Math.min(length - filled, parts[part].byteSize() - partRead);
            MemorySegment.copy(parts[part], ValueLayout.JAVA_BYTE, partRead, buffer, offset + filled, bytes);
            filled += bytes;
            partRead += bytes;
            if (partRead == parts[part].byteSize()) {
                part++;
                partRead = 0;
            }
        }
        return filled;
    }

    private boolean startRecord() {
        if (ended) {
            return false;
        }
        ended = !records.next();
        parts[1] = ended ? MemorySegment.NULL : records.key();
        parts[2] = ended ? MemorySegment.NULL : records.value();
        parts[0] = head;
        head.set(LENGTH, 0, (int) parts[1].byteSize());
        head.set(LENGTH, Integer.BYTES, (int) parts[2].byteSize());
        part = 0;
        return true;
    }

    @Override
    public void close() {
        records.close();
    }
}
