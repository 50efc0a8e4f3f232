package lab.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Binds a thread to a core. Linux only. */
final class Core {

    private static final int MASK_BYTES = 128;

    private Core() {
    }

    /** Binds the calling thread to one core. Threads that it starts later are bound to it too. */
    static void bind(int cpu) {
        Linker linker = Linker.nativeLinker();
        MemorySegment function = linker.defaultLookup().findOrThrow("sched_setaffinity");
        FunctionDescriptor signature = FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT,
                ValueLayout.JAVA_LONG, ValueLayout.ADDRESS);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES);
            mask.set(ValueLayout.JAVA_BYTE, cpu / Byte.SIZE, (byte) (1 << cpu % Byte.SIZE));
            int result = (int) linker.downcallHandle(function, signature).invokeExact(0, (long) MASK_BYTES, mask);
            if (result != 0) {
                throw new IllegalStateException("The thread cannot be bound to core " + cpu
                        + "; choose one that this process may use.");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
