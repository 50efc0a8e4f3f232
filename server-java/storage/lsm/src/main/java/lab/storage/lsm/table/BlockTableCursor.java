package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.BYTE;
import static lab.storage.lsm.disk.Encoding.INT;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;

/** Walks over one table. */
final class BlockTableCursor implements EntryCursor {

    private static final int FIRST_KEY_BYTES = 64;

    private final BlockTable table;
    private final byte[] to;
    private final boolean verifies;
    private BlockBuffer buffer;
    /** The last block that is walked over. */
    private long last;
    private long block;
    private MemorySegment data;
    private long at;
    private long limit;
    private int restarts;
    private long nextValue;
    private byte[] key = new byte[FIRST_KEY_BYTES];
    private int keyLength;
    private long value;
    private int valueLength;
    /** The current entry was reached by a search and is still to be shown. */
    private boolean pending;

    /**
     * @param verifies whether each block is checked again
     */
    BlockTableCursor(BlockTable table, byte[] from, byte[] to, boolean verifies) {
        this.verifies = verifies;
        this.table = table;
        this.to = to;
        this.last = table.blocks() - 1;
        if (table.blocks() == 0) {
            block = -1;
            return;
        }
        if (from == null) {
            enter(0);
            return;
        }
        seek(Math.max(0, table.blockFor(from, from.length)), from);
    }

    /** Walks over the blocks that {@link #only} names. */
    BlockTableCursor(BlockTable table) {
        this.verifies = false;
        this.table = table;
        this.to = null;
        this.block = -1;
    }

    /** Moves before the first entry of a block, after whose last entry {@link #next()} finds none. */
    void only(long number) {
        last = number;
        enter(number);
    }

    private void seek(long first, byte[] from) {
        enter(first);
        if (restarts > 1) {
            int restart = Block.restartFor(data, at, limit, restarts, from, from.length);
            long entry = limit + (long) restart * TableFormat.RESTART_BYTES;
            at += data.get(INT, entry);
            nextValue += data.get(INT, entry + Integer.BYTES);
        }
        while (advance()) {
            if (Arrays.compareUnsigned(key, 0, keyLength, from, 0, from.length) >= 0) {
                pending = true;
                return;
            }
        }
    }

    private void enter(long number) {
        if (verifies) {
            table.verifyBlock(number);
        } else {
            table.checkBlock(number);
        }
        block = number;
        long start = table.blockOffset(number);
        long end = table.blockOffset(number + 1) - TableFormat.BLOCK_TAIL_BYTES;
        data = table.data;
        int code = data.get(BYTE, end);
        if (code != 0) {
            if (buffer == null) {
                buffer = new BlockBuffer();
            }
            data = buffer.unpack(table, number, table.compression(start, code), data, start, end);
            start = 0;
            end = buffer.length();
        }
        at = start + data.get(INT, end - TableFormat.CONTENTS_TAIL_BYTES);
        restarts = data.get(INT, end - Integer.BYTES);
        limit = end - TableFormat.CONTENTS_TAIL_BYTES - (long) restarts * TableFormat.RESTART_BYTES;
        nextValue = start;
    }

    @Override
    public boolean next() {
        if (pending) {
            pending = false;
        } else if (block < 0 || !advance()) {
            return false;
        }
        if (to != null && Arrays.compareUnsigned(key, 0, keyLength, to, 0, to.length) >= 0) {
            block = -1;
            return false;
        }
        return true;
    }

    private boolean advance() {
        if (at >= limit) {
            if (block >= last) {
                block = -1;
                return false;
            }
            enter(block + 1);
        }
        int shared = number();
        int own = number();
        int valueCode = number();
        keyLength = shared + own;
        if (keyLength > key.length) {
            key = Arrays.copyOf(key, keyLength * 2);
        }
        Keys.copy(data, at, key, shared, own);
        at += own;
        value = nextValue;
        valueLength = valueCode - 1;
        nextValue += Math.max(0, valueLength);
        return true;
    }

    /** Reads a number, which nearly always is one byte. */
    private int number() {
        int first = data.get(BYTE, at);
        if (first >= 0) {
            at++;
            return first;
        }
        int value = Block.varint(data, at);
        at += Block.bytes(value);
        return value;
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
        return valueLength == EntryCursor.TOMBSTONE ? null : data;
    }

    @Override
    public long valueOffset() {
        return value;
    }

    @Override
    public int valueLength() {
        return valueLength;
    }

    @Override
    public long bufferBytes() {
        BlockBuffer used = buffer;
        return key.length + (used == null ? 0 : used.capacity());
    }
}
