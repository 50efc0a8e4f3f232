package lab.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Reads of a sorted map of byte strings: of a {@link Storage} as it is now, or of a {@link Snapshot} of it. */
public interface Reads {

    /**
     * Looks a key up and shows its value to {@code reader} without a copy.
     *
     * @param key    the key, at least one byte
     * @param reader called at most once, on this thread, before this method returns; the segment it is given is valid
     *               only during that call
     * @return false if the key is absent or deleted, and then the reader was not called
     * @throws X what the reader throws
     */
    <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X;

    /**
     * Looks a key up and copies its value.
     *
     * @return a new array, or null if the key is absent or deleted
     */
    default byte[] get(MemorySegment key) {
        byte[][] copy = new byte[1][];
        get(key, value -> copy[0] = value.toArray(ValueLayout.JAVA_BYTE));
        return copy[0];
    }

    /**
     * Opens a cursor over the keys from {@code from}, included, to {@code to}, excluded, in order, as they are at this
     * moment: writes that come later are not seen. The cursor holds resources until it is closed.
     *
     * @param from first key, or null for the smallest
     * @param to   the key before which the cursor ends, or null for no end
     */
    Cursor range(MemorySegment from, MemorySegment to);
}
