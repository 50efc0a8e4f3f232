package lab.server.api;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lab.storage.Cursor;

/** One large value, read from where it lies instead of being copied to the heap as a whole. */
public final class ValueBody implements Body {

    /** Larger values are sent from where they lie, piece by piece; smaller ones are copied while they are pinned. */
    public static final int STREAM_ABOVE_BYTES = 32 * 1024;

    private final Cursor cursor;
    private final MemorySegment value;
    private long read;

    private ValueBody(Cursor cursor) {
        this.cursor = cursor;
        this.value = cursor.value();
    }

    /**
     * Responds with the value of the cursor's first entry, or 404 if it has none. The value may have changed since its
     * size was seen; what the cursor shows is what is sent.
     *
     * @param cursor before its first entry; closed once the value is sent, or at once if there is none
     */
    public static void respond(Exchange exchange, Cursor cursor) throws IOException {
        boolean hasEntry = false;
        try {
            hasEntry = cursor.next();
        } finally {
            if (!hasEntry) {
                cursor.close();
            }
        }
        if (hasEntry) {
            exchange.respondStream(new ValueBody(cursor));
        } else {
            exchange.respond(Status.NOT_FOUND);
        }
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
    public boolean isEnded() {
        return read == value.byteSize();
    }

    @Override
    public void close() {
        cursor.close();
    }
}
