package lab.server.api;

import java.lang.foreign.MemorySegment;
import lab.storage.Cursor;

/** A range as a stream of records {@code key\nvalue}, with nothing between them. */
public final class RangeBody extends CursorBody {

    private static final int KEY = 0;
    private static final int VALUE = 2;

    private final boolean waits;
    private final MemorySegment[] parts = {null, MemorySegment.ofArray(new byte[] {'\n'}), null};

    RangeBody(Cursor cursor) {
        this(cursor, false);
    }

    /**
     * @param cursor closed with this body
     * @param waits  whether moving the cursor may wait for other nodes
     */
    public RangeBody(Cursor cursor, boolean waits) {
        super(cursor);
        this.waits = waits;
    }

    @Override
    public boolean waits() {
        return waits;
    }

    @Override
    protected MemorySegment[] parts(Cursor entry) {
        parts[KEY] = entry.key();
        parts[VALUE] = entry.value();
        return parts;
    }
}
