package lab.storage.lsm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A byte buffer that grows outside the heap. Not for use by several threads at once. */
final class NativeBuffer implements AutoCloseable {

    private Arena arena = Arena.ofShared();
    private MemorySegment segment;
    private long size;

    NativeBuffer(long initialBytes) {
        segment = arena.allocate(initialBytes);
    }

    private void reserve(long bytes) {
        if (size + bytes <= segment.byteSize()) {
            return;
        }
        Arena larger = Arena.ofShared();
        MemorySegment copy = larger.allocate(Math.max(segment.byteSize() * 2, size + bytes));
        MemorySegment.copy(segment, 0, copy, 0, size);
        arena.close();
        arena = larger;
        segment = copy;
    }

    void addInt(int value) {
        reserve(Integer.BYTES);
        segment.set(TableFormat.INT, size, value);
        size += Integer.BYTES;
    }

    void addLong(long value) {
        reserve(Long.BYTES);
        segment.set(TableFormat.LONG, size, value);
        size += Long.BYTES;
    }

    void add(MemorySegment source, long from, long bytes) {
        reserve(bytes);
        MemorySegment.copy(source, from, segment, size, bytes);
        size += bytes;
    }

    void clear() {
        size = 0;
    }

    long size() {
        return size;
    }

    MemorySegment written() {
        return segment.asSlice(0, size);
    }

    @Override
    public void close() {
        arena.close();
    }
}
