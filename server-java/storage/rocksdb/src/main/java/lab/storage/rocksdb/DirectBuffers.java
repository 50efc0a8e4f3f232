package lab.storage.rocksdb;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * Holds the direct buffers of one call or cursor, through which keys and values pass to and from RocksDB without an array in
 * between. A segment outside the heap is passed as it is.
 */
final class DirectBuffers {

    /** Larger entries take the way through arrays, so that one of them does not leave its size behind in each thread. */
    static final int LARGEST_BYTES = 1 << 20;
    private static final int FIRST_KEY_BYTES = 256;
    private static final int FIRST_VALUE_BYTES = 8 << 10;

    private ByteBuffer key = ByteBuffer.allocateDirect(FIRST_KEY_BYTES);
    private ByteBuffer value = ByteBuffer.allocateDirect(FIRST_VALUE_BYTES);
    private boolean lent;

    /**
     * Lends a thread's buffers. While they are lent, by a cursor or by a reader that calls the store again, others are
     * made.
     */
    static DirectBuffers borrow(ThreadLocal<DirectBuffers> ofThread) {
        DirectBuffers own = ofThread.get();
        DirectBuffers buffers = own.lent ? new DirectBuffers() : own;
        buffers.lent = true;
        return buffers;
    }

    /** Gives the buffers back; what was read into them is not valid any more. */
    void giveBack() {
        lent = false;
    }

    /** Tests whether a segment fits into the largest buffer. */
    static boolean takes(MemorySegment segment) {
        return segment.isNative() || segment.byteSize() <= LARGEST_BYTES;
    }

    /** Gives a key as a direct buffer from its position to its limit. */
    ByteBuffer key(MemorySegment segment) {
        if (segment.isNative()) {
            return segment.asByteBuffer();
        }
        key = filled(key, segment);
        return key;
    }

    /** Gives a value as a direct buffer from its position to its limit. */
    ByteBuffer value(MemorySegment segment) {
        if (segment.isNative()) {
            return segment.asByteBuffer();
        }
        value = filled(value, segment);
        return value;
    }

    /** Gives an empty buffer for a key to be read. */
    ByteBuffer emptyKey(int atLeastBytes) {
        key = withRoom(key, atLeastBytes).clear();
        return key;
    }

    /** Gives an empty buffer for a value to be read. */
    ByteBuffer emptyValue(int atLeastBytes) {
        value = withRoom(value, atLeastBytes).clear();
        return value;
    }

    private static ByteBuffer filled(ByteBuffer buffer, MemorySegment segment) {
        int length = (int) segment.byteSize();
        ByteBuffer roomy = withRoom(buffer, length).clear().limit(length);
        MemorySegment.ofBuffer(roomy).copyFrom(segment);
        return roomy;
    }

    private static ByteBuffer withRoom(ByteBuffer buffer, int bytes) {
        return bytes <= buffer.capacity() ? buffer : ByteBuffer.allocateDirect(Integer.highestOneBit(bytes - 1) << 1);
    }
}
