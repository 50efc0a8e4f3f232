package lab.storage.lsm.memtable;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.memory.NativeMemory;

/**
 * Memory of memtables, used again: its pages have been touched, so that the writers of the next one need not wait for
 * the kernel.
 */
public final class MemtablePool {

    private final long bytes;
    private final long usualBytes;
    private final int kept;
    private final LongAdder account;
    private final Queue<NativeMemory> free = new ArrayDeque<>();
    private boolean closed;

    /**
     * @param bytes      size of each
     * @param usualBytes so much of it is usually used
     * @param kept       so many are kept at most
     * @param account    where their pages are counted
     */
    public MemtablePool(long bytes, long usualBytes, int kept, LongAdder account) {
        this.bytes = bytes;
        this.usualBytes = usualBytes;
        this.kept = kept;
        this.account = account;
    }

    /** Whether there is memory that is not in use. */
    public synchronized boolean hasFree() {
        return !free.isEmpty();
    }

    /** Takes memory for a memtable. */
    public synchronized NativeMemory take() {
        NativeMemory memory = free.poll();
        return memory == null ? NativeMemory.reserve(bytes, usualBytes, account) : memory;
    }

    /**
     * Gives memory back that no memtable uses any more.
     *
     * @param keeps whether it may be kept
     */
    public synchronized void giveBack(NativeMemory memory, boolean keeps) {
        if (closed || !keeps || free.size() >= kept) {
            memory.free();
        } else {
            free.add(memory);
        }
    }

    /** Gives what is not in use back to the kernel. */
    public synchronized void trim() {
        free.forEach(NativeMemory::free);
        free.clear();
    }

    /** Gives all memory back to the kernel. */
    public synchronized void close() {
        closed = true;
        trim();
    }
}
