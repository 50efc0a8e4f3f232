package lab.jdk17;

import java.util.Map;

/** A sorted map of byte arrays. The interface of the main server has no place here: it speaks of memory segments. */
interface Store extends AutoCloseable {

    /** Value of a key, or null. */
    byte[] get(byte[] key);

    /** Stores a value. */
    void put(byte[] key, byte[] value);

    /** Removes a key, if it is there. */
    void delete(byte[] key);

    /**
     * Entries in order.
     *
     * @param from first key
     * @param to   key before which it ends, or null
     */
    Entries range(byte[] from, byte[] to);

    /** Number of keys. */
    long count();

    /** Bytes on disk. */
    long diskBytes();

    /** Settings that it runs with. */
    Map<String, Object> settings();

    @Override
    void close();

    /** Walks over a range; starts before its first entry. */
    interface Entries extends AutoCloseable {

        /** Moves on; false at the end. */
        boolean next();

        /** The current key. */
        byte[] key();

        /** The current value. */
        byte[] value();

        @Override
        void close();
    }
}
