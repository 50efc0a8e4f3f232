package lab.server.api;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lab.storage.Cursor;

/** A range as a stream of records {@code key\nvalue}, with nothing between them. */
public final class RangeBody implements Body {

    private static final MemorySegment NEWLINE = MemorySegment.ofArray(new byte[] {'\n'});
    private static final int KEY = 0;
    private static final int VALUE = 2;
    private static final int PARTS = 3;

    private final Cursor cursor;
    private final boolean waits;
    private MemorySegment part;
    private long partRead;
    private int partKind;

    RangeBody(Cursor cursor) {
        this(cursor, false);
    }

    /**
     * @param cursor closed with this body
     * @param waits  whether moving the cursor may wait for other nodes
     */
    public RangeBody(Cursor cursor, boolean waits) {
        this.cursor = cursor;
        this.waits = waits;
    }

    @Override
    public boolean waits() {
        return waits;
    }

    @Override
    public long length() {
        return UNKNOWN_LENGTH;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) {
        int filled = 0;
        while (filled < length) {
            if (part == null && !startRecord()) {
                break;
            }
            int bytes = (int) Math.min(length - filled, part.byteSize() - partRead);
            MemorySegment.copy(part, ValueLayout.JAVA_BYTE, partRead, buffer, offset + filled, bytes);
            filled += bytes;
            partRead += bytes;
            if (partRead == part.byteSize()) {
                nextPart();
            }
        }
        return filled;
    }

    private boolean startRecord() {
        if (!cursor.next()) {
            return false;
        }
        partKind = KEY;
        part = cursor.key();
        partRead = 0;
        return true;
    }

    private void nextPart() {
        partKind = (partKind + 1) % PARTS;
        partRead = 0;
        part = partKind == KEY ? null : partKind == VALUE ? cursor.value() : NEWLINE;
        if (part != null && part.byteSize() == 0) {
            nextPart();
        }
    }

    @Override
    public void close() {
        cursor.close();
    }
}
