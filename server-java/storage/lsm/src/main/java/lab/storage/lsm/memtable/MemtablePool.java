package lab.storage.lsm.memtable;

import java.util.ArrayDeque;
import java.util.Queue;
import lab.storage.lsm.memory.NativeMemory;

/**
 * Memory of memtables, used again: its pages have been touched, so that the writers of the next one need not wait for
 * the kernel. Keeps two at most, for so many are in use.
 */
public final class MemtablePool {

    private static final int KEPT = 2;

    private final long bytes;
    private final long usualBytes;
    private final Queue<NativeMemory> free = new ArrayDeque<>();
    private boolean closed;

    /**
     * @param bytes      size of each
     * @param usualBytes so much of it is usually used
     */
    public MemtablePool(long bytes, long usualBytes) {
        this.bytes = bytes;
        this.usualBytes = usualBytes;
    }

    /** Takes memory for a memtable. */
    public synchronized NativeMemory take() {
        NativeMemory memory = free.poll();
        return memory == null ? NativeMemory.reserve(bytes, usualBytes) : memory;
    }

    /** Gives memory back that no memtable uses any more. */
    public synchronized void giveBack(NativeMemory memory) {
        if (closed || free.size() == KEPT) {
            memory.free();
        } else {
            free.add(memory);
        }
    }

    /** Gives all memory back to the kernel. */
    public synchronized void close() {
        closed = true;
        free.forEach(NativeMemory::free);
        free.clear();
    }
}
