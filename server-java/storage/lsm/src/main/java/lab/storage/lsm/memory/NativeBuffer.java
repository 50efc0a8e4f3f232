package lab.storage.lsm.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.disk.Encoding;

/** A byte buffer that grows outside the heap. For the thread that makes it. */
public final class NativeBuffer implements AutoCloseable {

    private static final int SEVEN = 7;
    private static final long LARGEST_SPARE_BYTES = 64L << 20;
    private static final int CONTINUES = 0x80;

    private Arena arena = Arena.ofConfined();
    private MemorySegment segment;
    private ByteBuffer view;
    private final LongAdder account;
    private long size;

    /**
     * Makes a buffer with room for some bytes.
     *
     * @param account where its memory is counted
     */
    public NativeBuffer(long initialBytes, LongAdder account) {
        this.account = account;
        segment = arena.allocate(initialBytes);
        account.add(initialBytes);
    }

    /** Makes room for so many more bytes. */
    public void reserve(long bytes) {
        if (size + bytes <= segment.byteSize()) {
            return;
        }
        Arena larger = Arena.ofConfined();
        MemorySegment copy = larger.allocate(grown(segment.byteSize(), size + bytes));
        MemorySegment.copy(segment, 0, copy, 0, size);
        account.add(copy.byteSize() - segment.byteSize());
        arena.close();
        arena = larger;
        segment = copy;
        view = null;
    }

    /**
     * Doubles, but a large one grows by no more than it has to and a little: twice the block of a value of 1 GiB is more
     * than a {@link ByteBuffer} can show.
     */
    public static long grown(long bytes, long needed) {
        return Math.max(needed, Math.min(bytes * 2, needed + LARGEST_SPARE_BYTES));
    }

    /** Adds a byte. */
    public void addByte(int value) {
        reserve(1);
        segment.set(Encoding.BYTE, size++, (byte) value);
    }

    /** Adds four bytes. */
    public void addInt(int value) {
        reserve(Integer.BYTES);
        segment.set(Encoding.INT, size, value);
        size += Integer.BYTES;
    }

    /** Adds eight bytes. */
    public void addLong(long value) {
        reserve(Long.BYTES);
        segment.set(Encoding.LONG, size, value);
        size += Long.BYTES;
    }

    /** Adds a number in groups of seven bits, the lowest first; the highest bit says that another group follows. */
    public void addVarint(int value) {
        int rest = value;
        while ((rest & -CONTINUES) != 0) {
            addByte(rest & CONTINUES - 1 | CONTINUES);
            rest >>>= SEVEN;
        }
        addByte(rest);
    }

    /** Adds a part of a segment. */
    public void add(MemorySegment source, long from, long bytes) {
        reserve(bytes);
        MemorySegment.copy(source, from, segment, size, bytes);
        size += bytes;
    }

    /** Adds a part of an array. */
    public void add(byte[] source, int from, int bytes) {
        reserve(bytes);
        MemorySegment.copy(source, from, segment, ValueLayout.JAVA_BYTE, size, bytes);
        size += bytes;
    }

    /** Adds zeros. */
    public void addZeros(long bytes) {
        reserve(bytes);
        segment.asSlice(size, bytes).fill((byte) 0);
        size += bytes;
    }

    /** Forgets everything. */
    public void clear() {
        size = 0;
    }

    /** Forgets so many bytes at the start; what comes after them moves there. */
    public void removeFirst(long bytes) {
        if (bytes > 0) {
            MemorySegment.copy(segment, bytes, segment, 0, size - bytes);
            size -= bytes;
        }
    }

    /** Forgets what comes after a position. */
    public void truncate(long newSize) {
        size = newSize;
    }

    /** Returns the number of bytes added. */
    public long size() {
        return size;
    }

    /** The memory itself; valid until the next addition. */
    public MemorySegment segment() {
        return segment;
    }

    MemorySegment written() {
        return segment.asSlice(0, size);
    }

    /** A part of it as a buffer, without making one each time. */
    public ByteBuffer view(long from, long to) {
        if (view == null) {
            view = segment.asByteBuffer();
        }
        return view.clear().limit((int) to).position((int) from);
    }

    @Override
    public void close() {
        account.add(-segment.byteSize());
        arena.close();
    }
}
