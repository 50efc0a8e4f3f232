package lab.storage;

import java.lang.foreign.MemorySegment;

/** Estimates how much room a range takes; for engines that can without reading it. */
public interface SizeEstimates {

    /**
     * Estimates the bytes that the entries of a range take, in files as they are stored there, packed and with versions
     * and deletes that are not merged away yet, and in memory. The engine's documentation says how near it comes.
     *
     * @param from first key, or null for the smallest
     * @param to   the key before which the range ends, or null for no end
     */
    long approximateBytes(MemorySegment from, MemorySegment to);
}
