package lab.server.api;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lab.storage.Cursor;

/** One large value, read from where it lies instead of being copied to the heap as a whole. */
public final class ValueBody implements Body {

    private final Cursor cursor;
    private final MemorySegment value;
    private long read;

    /**
     * @param cursor on the entry; closed with this body
     */
    public ValueBody(Cursor cursor) {
        this.cursor = cursor;
        this.value = cursor.value();
    }

    @Override
    public long length() {
        return value.byteSize();
    }

    @Override
    public int read(byte[] buffer, int offset, int length) {
        int bytes = (int) Math.min(length, value.byteSize() - read);
        MemorySegment.copy(value, ValueLayout.JAVA_BYTE, read, buffer, offset, bytes);
        read += bytes;
        return bytes;
    }

    @Override
    public void close() {
        cursor.close();
    }
}
