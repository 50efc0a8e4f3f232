package lab.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Looks several keys up at one moment, sharing the work; for engines and snapshots that can. */
public interface MultiGet {

    /**
     * Receives values where they lie.
     *
     * @param <X> what reading may throw
     */
    @FunctionalInterface
    interface Reader<X extends Exception> {

        /**
         * Receives the value of a key that is present.
         *
         * @param index place of the key in the list
         * @param value the value; valid only during this call
         */
        void accept(int index, MemorySegment value) throws X;
    }

    /**
     * Looks keys up as they are at one moment, and shows the values of those that are present, in any order.
     *
     * @param keys   may name a key more than once
     * @param reader called on this thread before this method returns
     * @throws X what the reader throws; no further value is shown then
     */
    <X extends Exception> void get(List<MemorySegment> keys, Reader<X> reader) throws X;

    /**
     * Looks keys up as they are at one moment, and copies their values.
     *
     * @return an array for each key, null for one that is absent
     */
    default byte[][] get(List<MemorySegment> keys) {
        byte[][] copies = new byte[keys.size()][];
        get(keys, (index, value) -> copies[index] = value.toArray(ValueLayout.JAVA_BYTE));
        return copies;
    }
}
