package lab.storage.lsm.table;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Walks over one table from its end to its start. The keys of a block can be read forwards alone, so a block is read as a
 * whole, its keys are written down, and then they are shown backwards; values are shown where they lie.
 */
final class ReverseTableCursor implements EntryCursor {

    private static final int FIRST_KEYS_BYTES = 4096;
    private static final int FIRST_ENTRIES = 64;
    private static final int ENTRY_BYTES = Long.BYTES + 2 * Integer.BYTES;

    private final BlockwiseCursor entries;
    private final byte[] from;
    private final byte[] to;
    private long block;
    private byte[] keys = new byte[FIRST_KEYS_BYTES];
    /** Where the key of an entry ends; it starts where the one before ends. */
    private int[] keyEnds = new int[FIRST_ENTRIES];
    private long[] values = new long[FIRST_ENTRIES];
    private int[] valueLengths = new int[FIRST_ENTRIES];
    private MemorySegment data;
    /** Entries of the block that are still to be shown, and after them the one that is shown. */
    private int left;
    private byte[] key = new byte[Long.BYTES];
    private int keyLength;

    /**
     * @param from first key, or null; shown last
     * @param to   key after the last one, or null
     */
    ReverseTableCursor(Table table, byte[] from, byte[] to) {
        this.entries = table.blockwise();
        this.from = from;
        this.to = to;
        this.block = to == null ? table.blocks() - 1 : table.blockFor(to, to.length);
        if (block >= 0) {
            read();
        }
    }

    /** Writes the entries of the block down, up to the end of the range. */
    private void read() {
        entries.only(block);
        left = 0;
        int keysEnd = 0;
        while (entries.next() && (to == null
                || Arrays.compareUnsigned(entries.key(), 0, entries.keyLength(), to, 0, to.length) < 0)) {
            int length = entries.keyLength();
            if (left == values.length) {
                keyEnds = Arrays.copyOf(keyEnds, 2 * left);
                values = Arrays.copyOf(values, 2 * left);
                valueLengths = Arrays.copyOf(valueLengths, 2 * left);
            }
            if (keysEnd + length > keys.length) {
                keys = Arrays.copyOf(keys, Math.max(keysEnd + length, 2 * keys.length));
            }
            System.arraycopy(entries.key(), 0, keys, keysEnd, length);
            keysEnd += length;
            keyEnds[left] = keysEnd;
            values[left] = entries.valueOffset();
            valueLengths[left] = entries.valueLength();
            if (valueLengths[left] != TOMBSTONE) {
                data = entries.valueSegment();
            }
            left++;
        }
    }

    @Override
    public boolean next() {
        while (left == 0) {
            if (block <= 0) {
                return false;
            }
            block--;
            read();
        }
        left--;
        int start = left == 0 ? 0 : keyEnds[left - 1];
        keyLength = keyEnds[left] - start;
        if (from != null && Arrays.compareUnsigned(keys, start, keyEnds[left], from, 0, from.length) < 0) {
            left = 0;
            block = 0;
            return false;
        }
        if (key.length < keyLength) {
            key = new byte[2 * keyLength];
        }
        System.arraycopy(keys, start, key, 0, keyLength);
        return true;
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
        return valueLengths[left] == TOMBSTONE ? null : data;
    }

    @Override
    public long valueOffset() {
        return values[left];
    }

    @Override
    public int valueLength() {
        return valueLengths[left];
    }

    @Override
    public long bufferBytes() {
        return entries.bufferBytes() + keys.length + (long) values.length * ENTRY_BYTES;
    }
}
