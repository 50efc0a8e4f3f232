package lab.storage;

import java.io.Closeable;
import java.lang.foreign.MemorySegment;
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
public interface Storage extends Reads, Closeable {

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
