package lab.storage;

import java.io.Closeable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;

/**
 * A sorted map of byte strings, kept in memory or on disk.
 *
 * <p>Keys are ordered as unsigned bytes. Every method may be called by many threads at once, except {@link #close()},
 * which is called when no other call is under way; it may be called twice.
 *
 * <p>What only some engines can do is in an interface of its own, which such an engine's store implements too: {@link
 * MultiGet}.
 *
 * <p>Failures are {@link StorageException}s: a message that names the thing, the cause and the remedy.
 */
public interface Storage extends Closeable {

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

    /**
     * Stores a value, replacing an older one. Waits while the engine has no room in memory.
     *
     * <p>Ownership of both segments passes to the engine, which may keep them instead of copying: the caller must not
     * change the bytes afterwards.
     *
     * @param key   at least one byte
     * @param value any number of bytes, also none
     */
    void put(MemorySegment key, MemorySegment value);

    /**
     * Removes a key. A key that is absent is no error. Ownership of the key passes as in {@link #put}.
     */
    void delete(MemorySegment key);

    /** Puts everything written so far on disk, for an engine that has one. Returns when it is there. */
    void flush();

    /** Name of the engine, as given to {@code --engine}. */
    String engine();

    /** Settings that this store runs with; names carry units. Values are strings, numbers and booleans. */
    Map<String, Object> settings();

    /** Sizes at this moment. Cheap enough to be asked once a second. */
    StorageStats stats();

    /**
     * What the store has done since it was opened: counts, bytes and ratios, as {@code /v0/stats} shows them. Names carry
     * units. Values are numbers, strings, booleans and maps of these; empty for an engine that counts nothing.
     */
    default Map<String, Object> statistics() {
        return Map.of();
    }

    /** Flushes, stops background work and gives every resource back. */
    @Override
    void close();
}
