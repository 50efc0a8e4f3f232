package lab.storage;

import java.lang.foreign.MemorySegment;

/** Reads ranges from their end to their start; for engines and snapshots that can. */
public interface ReverseRanges {

    /**
     * Opens a cursor that shows what {@link Reads#range} shows for the same bounds, in the opposite order.
     *
     * @param from the smallest key, included and shown last, or null for no bound
     * @param to   the key before which the range ends, so the largest one comes first; or null for no bound
     */
    Cursor reverseRange(MemorySegment from, MemorySegment to);
}
