package lab.storage.lsm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Memory straight from the kernel. {@link Arena#allocate} writes zeros over the whole of it and counts it against
 * {@code -XX:MaxDirectMemorySize}, which is the heap limit unless told otherwise; a memtable wants neither: its pages
 * come when they are touched, and its bound is the flush threshold.
 *
 * <p>Elsewhere than on Linux it falls back to an arena.
 */
@SuppressWarnings("restricted")
final class NativeMemory {

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final int READ_WRITE = 3;
    private static final int PRIVATE_ANONYMOUS_NORESERVE = 0x2 | 0x20 | 0x4000;
    private static final int DONT_NEED = 4;
    private static final int PRIORITY_OF_A_PROCESS = 0;
    private static final MethodHandle MAP;
    private static final MethodHandle UNMAP;
    private static final MethodHandle ADVISE;
    private static final MethodHandle SET_PRIORITY;

    static {
        boolean linux = System.getProperty("os.name").equals("Linux");
        MAP = linux ? find("mmap", FunctionDescriptor.of(LONG, LONG, LONG, INT, INT, INT, LONG)) : null;
        UNMAP = linux ? find("munmap", FunctionDescriptor.of(INT, LONG, LONG)) : null;
        ADVISE = linux ? find("madvise", FunctionDescriptor.of(INT, LONG, LONG, INT)) : null;
        SET_PRIORITY = linux ? find("setpriority", FunctionDescriptor.of(INT, INT, INT, INT)) : null;
    }

    private final MemorySegment segment;
    private final Arena fallback;

    private NativeMemory(MemorySegment segment, Arena fallback) {
        this.segment = segment;
        this.fallback = fallback;
    }

    private static MethodHandle find(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.defaultLookup().find(name).map(symbol -> linker.downcallHandle(symbol, type)).orElse(null);
    }

    /** Reserves address space that reads as zeros. Takes memory only where it is written to. */
    static NativeMemory reserve(long bytes) {
        if (MAP == null || UNMAP == null || ADVISE == null) {
            Arena arena = Arena.ofShared();
            return new NativeMemory(arena.allocate(bytes), arena);
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
        return new NativeMemory(MemorySegment.ofAddress(address).reinterpret(bytes), null);
    }

    /** The memory as seen until the arena is closed. Whoever uses it later gets an exception, not somebody else's bytes. */
    MemorySegment during(Arena arena) {
        return segment.reinterpret(arena, null);
    }

    long byteSize() {
        return segment.byteSize();
    }

    /** Gives the pages from an offset on back to the kernel; they read as zeros afterwards. */
    void discard(long from) {
        if (fallback != null) {
            segment.asSlice(from).fill((byte) 0);
            return;
        }
        try {
            int ignored = (int) ADVISE.invokeExact(segment.address() + from, segment.byteSize() - from, DONT_NEED);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Gives everything back. Nobody may use it any more. */
    void free() {
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

    /**
     * Lowers the priority of the calling thread, and of it alone: on Linux each thread has a nice value of its own. A
     * thread that answers a request then goes first where they share a core. Does nothing elsewhere.
     */
    static void runInBackground(int nice) {
        if (SET_PRIORITY != null) {
            try {
                int ignored = (int) SET_PRIORITY.invokeExact(PRIORITY_OF_A_PROCESS, 0, nice);
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
