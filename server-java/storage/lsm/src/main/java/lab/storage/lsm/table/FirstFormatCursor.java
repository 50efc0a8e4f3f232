package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.BYTE;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Walks over one table of the first format. */
final class FirstFormatCursor implements BlockwiseCursor {

    private static final int FIRST_KEY_BYTES = 64;

    private final FirstFormatTable table;
    private final byte[] to;
    /** The last block that is walked over. */
    private long last;
    private final boolean verifies;
    private long block;
    private long blockStart;
    private long blockEnd;
    private int count;
    private int index;
    private long entry;
    private byte[] key = new byte[FIRST_KEY_BYTES];
    private int keyLength;

    /**
     * @param verifies whether each block is checked again
     */
    FirstFormatCursor(FirstFormatTable table, byte[] from, byte[] to, boolean verifies) {
        this.verifies = verifies;
        this.table = table;
        this.to = to;
        this.last = table.blocks() - 1;
        if (from == null) {
            enter(0);
            index = -1;
        } else {
            enter(Math.max(0, table.blockFor(from, from.length)));
            index = table.lowerBound(from, from.length, blockStart, blockEnd, count) - 1;
        }
    }

    /** Walks over the blocks that {@link #only} names. */
    FirstFormatCursor(FirstFormatTable table) {
        this.verifies = false;
        this.table = table;
        this.to = null;
    }

    @Override
    public void only(long number) {
        last = number;
        enter(number);
        index = -1;
    }

    private void enter(long number) {
        if (verifies) {
            table.verifyBlock(number);
        } else {
            table.checkBlock(number);
        }
        block = number;
        blockStart = table.blockOffset(number);
        blockEnd = table.blockOffset(number + 1);
        count = table.entryCount(blockEnd);
    }

    @Override
    public boolean next() {
        index++;
        if (index >= count) {
            if (block >= last) {
                index = count;
                return false;
            }
            enter(block + 1);
            index = 0;
        }
        entry = blockStart + table.entryOffset(blockEnd, count, index);
        keyLength = table.keyLength(entry);
        if (keyLength > key.length) {
            key = new byte[keyLength * 2];
        }
        MemorySegment.copy(table.data, BYTE, table.keyOffset(entry), key, 0, keyLength);
        return to == null || Arrays.compareUnsigned(key, 0, keyLength, to, 0, to.length) < 0;
    }

    @Override
    public byte[] key() {
        return key;
    }

    @Override
    public int keyLength() {
        return keyLength;
    }

    @Override
    public long prefix() {
        return Keys.prefix(key, 0, keyLength);
    }

    @Override
    public MemorySegment valueSegment() {
        return valueLength() == EntryCursor.TOMBSTONE ? null : table.data;
    }

    @Override
    public long valueOffset() {
        return table.valueOffset(entry);
    }

    @Override
    public int valueLength() {
        return table.valueLength(entry);
    }
}
