package lab.storage.lsm.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.atomic.LongAdder;

/**
 * Memory straight from the kernel. {@link Arena#allocate} writes zeros over the whole of it at once; pages of a memtable
 * come when they are touched.
 *
 * <p>Elsewhere than on Linux it falls back to an arena.
 */
@SuppressWarnings("restricted")
public final class NativeMemory {

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final int READ_WRITE = 3;
    private static final int PRIVATE_ANONYMOUS_NORESERVE = 0x2 | 0x20 | 0x4000;
    private static final int DONT_NEED = 4;
    private static final int HUGE_PAGES = 14;
    private static final int POPULATE_WRITE = 23;
    private static final long PAGE_BYTES = 4096;
    private static final long HUGE_PAGE_BYTES = 2 << 20;
    private static final MethodHandle MAP;
    private static final MethodHandle UNMAP;
    private static final MethodHandle ADVISE;

    static {
        boolean linux = System.getProperty("os.name").equals("Linux");
        MAP = linux ? find("mmap", FunctionDescriptor.of(LONG, LONG, LONG, INT, INT, INT, LONG)) : null;
        UNMAP = linux ? find("munmap", FunctionDescriptor.of(INT, LONG, LONG)) : null;
        ADVISE = linux ? find("madvise", FunctionDescriptor.of(INT, LONG, LONG, INT)) : null;
    }

    private final MemorySegment segment;
    private final Arena fallback;
    private final LongAdder account;
    /** Up to here the kernel has given pages. */
    private volatile long touchedBytes;

    private NativeMemory(MemorySegment segment, Arena fallback, LongAdder account) {
        this.segment = segment;
        this.fallback = fallback;
        this.account = account;
        touched(fallback == null ? 0 : segment.byteSize());
    }

    private void touched(long bytes) {
        account.add(bytes - touchedBytes);
        touchedBytes = bytes;
    }

    /** Bytes for which the kernel has given pages. */
    public long touchedBytes() {
        return touchedBytes;
    }

    /** Says that so much of it was written to. */
    public void used(long bytes) {
        if (bytes > touchedBytes) {
            touched(bytes);
        }
    }

    private static MethodHandle find(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.defaultLookup().find(name).map(symbol -> linker.downcallHandle(symbol, type)).orElse(null);
    }

    /**
     * Reserves address space that reads as zeros. Takes memory only where it is written to. The part that is usually used
     * comes in pages of 2 MiB where the kernel lets it: a walk from node to node all over it is only as fast as the
     * processor finds the pages.
     *
     * @param account where its pages are counted
     */
    public static NativeMemory reserve(long bytes, long usualBytes, LongAdder account) {
        if (MAP == null || UNMAP == null || ADVISE == null) {
            Arena arena = Arena.ofShared();
            return new NativeMemory(arena.allocate(bytes), arena, account);
        }
        long address;
        try {
            address = (long) MAP.invokeExact(0L, bytes, READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE, -1, 0L);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        if (address == -1) {
            throw new OutOfMemoryError("The kernel gives no " + bytes + " bytes of address space.");
        }
        NativeMemory memory = new NativeMemory(MemorySegment.ofAddress(address).reinterpret(bytes), null, account);
        long huge = usualBytes & -HUGE_PAGE_BYTES;
        if (huge > 0) {
            memory.advise(0, huge, HUGE_PAGES);
        }
        return memory;
    }

    /** Tells the kernel something of a part. One that does not know the advice says so, which changes nothing. */
    private void advise(long from, long bytes, int advice) {
        try {
            int ignored = (int) ADVISE.invokeExact(segment.address() + from, bytes, advice);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Whether it is time to {@link #touchAhead}; asking costs nothing.
     *
     * @param used  bytes that are in use
     * @param limit more is hardly ever used
     */
    public boolean runsLow(long used, long limit) {
        long touched = touchedBytes;
        return touched - used < HUGE_PAGE_BYTES && touched < limit;
    }

    /** Has the kernel give the pages that come next. For one thread. */
    public void touchAhead(long used, long limit) {
        while (runsLow(used, limit)) {
            long from = touchedBytes;
            long to = Math.min(limit + PAGE_BYTES - 1 & -PAGE_BYTES, Math.max(from, used) + HUGE_PAGE_BYTES);
            advise(from, to - from, POPULATE_WRITE);
            touched(to);
        }
    }

    /** The memory as seen until the arena is closed. Whoever uses it later gets an exception, not somebody else's bytes. */
    public MemorySegment during(Arena arena) {
        return segment.reinterpret(arena, null);
    }

    /** Returns the size in bytes. */
    public long byteSize() {
        return segment.byteSize();
    }

    /** Gives the pages from an offset on back to the kernel; they read as zeros afterwards. */
    public void discard(long from) {
        if (fallback != null) {
            segment.asSlice(from).fill((byte) 0);
            return;
        }
        advise(from, segment.byteSize() - from, DONT_NEED);
        touched(Math.min(touchedBytes, from));
    }

    /** Gives everything back. Nobody may use it any more. */
    public void free() {
        account.add(-touchedBytes);
        if (fallback != null) {
            fallback.close();
            return;
        }
        try {
            int ignored = (int) UNMAP.invokeExact(segment.address(), segment.byteSize());
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
