package lab.server.api;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lab.storage.Cursor;

/** The entries of a cursor, one after the other. */
public abstract class CursorBody implements Body {

    /** Parts of what has none. */
    protected static final MemorySegment[] NO_PARTS = {};
    /** Steps of the cursor after which a piece ends, however little is in it: fewer than a millisecond in memory. */
    static final int PIECE_STEPS = 4096;

    private final Cursor cursor;
    private MemorySegment[] parts = NO_PARTS;
    private int part;
    private long partRead;
    private boolean atEnd;

    /**
     * @param cursor closed with this body
     */
    protected CursorBody(Cursor cursor) {
        this.cursor = cursor;
    }

    /** What is sent of the entry at which a cursor is: bytes that stay until it moves. */
    protected abstract MemorySegment[] parts(Cursor entry);

    /** What is sent behind the last entry. */
    protected MemorySegment[] lastParts() {
        return NO_PARTS;
    }

    @Override
    public final long length() {
        return UNKNOWN_LENGTH;
    }

    @Override
    public final int read(byte[] buffer, int offset, int length) {
        int filled = 0;
        int steps = 0;
        while (filled < length) {
            if (part < parts.length) {
                filled += put(buffer, offset + filled, length - filled);
            } else if (atEnd || steps++ == PIECE_STEPS) {
                break;
            } else {
                step();
            }
        }
        return filled;
    }

    private int put(byte[] buffer, int offset, int room) {
        int bytes = (int) Math.min(room, parts[part].byteSize() - partRead);
        MemorySegment.copy(parts[part], ValueLayout.JAVA_BYTE, partRead, buffer, offset, bytes);
        partRead += bytes;
        if (partRead == parts[part].byteSize()) {
            part++;
            partRead = 0;
        }
        return bytes;
    }

    private void step() {
        Cursor.Step step = cursor.step();
        atEnd = step == Cursor.Step.END;
        if (step != Cursor.Step.PASSED) {
            parts = atEnd ? lastParts() : parts(cursor);
            part = 0;
        }
    }

    @Override
    public final boolean isEnded() {
        return atEnd && part == parts.length;
    }

    @Override
    public final void close() {
        cursor.close();
    }
}
