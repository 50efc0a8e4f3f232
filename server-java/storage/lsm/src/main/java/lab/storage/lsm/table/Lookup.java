package lab.storage.lsm.table;

import java.lang.foreign.MemorySegment;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;

/**
 * A key that is looked for, and where its value was found. One for each thread, used again and again, so that a lookup
 * makes no garbage.
 */
public final class Lookup {

    /** Array that starts with the key. */
    public byte[] key;
    /** Bytes of the key. */
    public int keyLength;
    /** Hash of the key, as {@link Keys#hash} gives it. */
    public long hash;
    /** First eight bytes of the key, as {@link Keys#prefix} gives them. */
    public long prefix;

    /** Where the value lies, if one was found. */
    public MemorySegment segment;
    /** Where the value starts in the segment. */
    public long valueOffset;
    /** {@link EntryCursor#TOMBSTONE} if what was found is a delete. */
    public int valueLength;

    /** Filters asked, and those that said no, during this lookup. */
    public int filtersAsked;
    public int filtersNo;
    /** Tables searched without finding the key although their filter had let it pass. */
    public int filtersWrong;

    private BlockBuffer buffer;
    private boolean busy;
    private boolean inOrder;
    private Table lastTable;
    private long lastBlock;

    /** Prepares for a key. */
    public void begin(byte[] bytes) {
        reset(false);
        wants(bytes);
    }

    /** Prepares for several keys, each not smaller than the one before in the same table; {@link #wants} names them. */
    public void beginInOrder() {
        reset(true);
    }

    private void reset(boolean keysInOrder) {
        inOrder = keysInOrder;
        lastTable = null;
        filtersAsked = 0;
        filtersNo = 0;
        filtersWrong = 0;
    }

    /** Says which key is looked for now. */
    public void wants(byte[] bytes) {
        wants(bytes, Keys.hash(bytes, bytes.length), Keys.prefix(bytes, 0, bytes.length));
    }

    /** The same, where hash and prefix are known. */
    public void wants(byte[] bytes, long hashOfKey, long prefixOfKey) {
        busy = true;
        key = bytes;
        keyLength = bytes.length;
        hash = hashOfKey;
        prefix = prefixOfKey;
    }

    /** The block of a table in which the key before was looked for; -1 if that is not known. */
    long lastBlock(Table table) {
        return lastTable == table ? lastBlock : -1;
    }

    /** Remembers a block for the keys that follow, if they come in order. */
    void remember(Table table, long block) {
        if (inOrder) {
            lastTable = table;
            lastBlock = block;
        }
    }

    /** Whether it is in use further up the stack, by a reader of a value that looks up another one. */
    public boolean busy() {
        return busy;
    }

    /** Ends the lookup. */
    public void end() {
        busy = false;
        key = null;
        segment = null;
        lastTable = null;
    }

    /** Says where the value was found. */
    public void found(MemorySegment where, long offset, int length) {
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
