package lab.storage.lsm;

import java.lang.foreign.MemorySegment;

/**
 * A key that is looked for, and where its value was found. One for each thread, used again and again, so that a lookup
 * makes no garbage.
 */
final class Lookup {

    byte[] key;
    int keyLength;
    long hash;
    long prefix;

    /** Where the value lies, if one was found. */
    MemorySegment segment;
    long valueOffset;
    /** {@link TableFormat#TOMBSTONE} if what was found is a delete. */
    int valueLength;

    /** Filters asked, and those that said no, during this lookup. */
    int filtersAsked;
    int filtersNo;
    /** Tables searched without finding the key although their filter had let it pass. */
    int filtersWrong;

    private BlockBuffer buffer;
    private boolean busy;

    /** Prepares for a key. */
    void begin(byte[] bytes) {
        busy = true;
        key = bytes;
        keyLength = bytes.length;
        hash = Keys.hash(bytes, bytes.length);
        prefix = Keys.prefix(bytes, 0, bytes.length);
        filtersAsked = 0;
        filtersNo = 0;
        filtersWrong = 0;
    }

    /** Whether it is in use further up the stack, by a reader of a value that looks up another one. */
    boolean busy() {
        return busy;
    }

    void end() {
        busy = false;
        key = null;
        segment = null;
    }

    void found(MemorySegment where, long offset, int length) {
        segment = where;
        valueOffset = offset;
        valueLength = length;
    }

    /** Where compressed blocks are unpacked to. */
    BlockBuffer buffer() {
        if (buffer == null) {
            buffer = new BlockBuffer();
        }
        return buffer;
    }
}
