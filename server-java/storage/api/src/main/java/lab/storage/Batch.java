package lab.storage;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects writes that are to be done as one step by {@link Batches#write}. Of several writes of one key the last one
 * counts. For one thread at a time; may be written more than once.
 *
 * <p>Ownership of the segments passes as in {@link Storage#put}: their bytes must not change afterwards.
 */
public final class Batch {

    private final List<MemorySegment> keys = new ArrayList<>();
    private final List<MemorySegment> values = new ArrayList<>();

    /**
     * Adds a write of a value.
     *
     * @return this
     */
    public Batch put(MemorySegment key, MemorySegment value) {
        keys.add(key);
        values.add(value);
        return this;
    }

    /**
     * Adds a removal of a key.
     *
     * @return this
     */
    public Batch delete(MemorySegment key) {
        keys.add(key);
        values.add(null);
        return this;
    }

    /** Returns the number of writes. */
    public int size() {
        return keys.size();
    }

    /** Returns the key of a write, counted from 0. */
    public MemorySegment key(int write) {
        return keys.get(write);
    }

    /** Returns the value of a write; null if it removes its key. */
    public MemorySegment value(int write) {
        return values.get(write);
    }
}
