package lab.storage;

import java.lang.foreign.MemorySegment;

/**
 * Receives a value where it lies.
 *
 * @param <X> what reading may throw
 */
@FunctionalInterface
public interface ValueReader<X extends Exception> {

    /**
     * @param value the value; the segment may point into a mapped file and is valid only during this call
     */
    void accept(MemorySegment value) throws X;
}
