package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import lab.server.api.CursorBody;
import lab.storage.Cursor;

/**
 * A range as another node wants it: for each record the length of its key and its own, four bytes each, highest first,
 * then key and record; a length of 0 at the end, without which it is not whole.
 */
final class RecordsBody extends CursorBody {

    /** How lengths are written. */
    static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    /** Bytes before a key. */
    static final int HEAD_BYTES = 2 * Integer.BYTES;

    private final MemorySegment[] parts = {MemorySegment.ofArray(new byte[HEAD_BYTES]), null, null};

    /**
     * @param records closed with this body
     */
    RecordsBody(Cursor records) {
        super(records);
    }

    @Override
    protected MemorySegment[] parts(Cursor record) {
        return parts(record.key(), record.value());
    }

    @Override
    protected MemorySegment[] lastParts() {
        return parts(MemorySegment.NULL, MemorySegment.NULL);
    }

    private MemorySegment[] parts(MemorySegment key, MemorySegment record) {
        parts[0].set(LENGTH, 0, (int) key.byteSize());
        parts[0].set(LENGTH, Integer.BYTES, (int) record.byteSize());
        parts[1] = key;
        parts[2] = record;
        return parts;
    }
}
