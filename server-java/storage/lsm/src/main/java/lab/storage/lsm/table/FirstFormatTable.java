package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.INT;
import static lab.storage.lsm.disk.Encoding.LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.function.Supplier;
import lab.storage.lsm.CorruptionException;

/**
 * A table of the first format, which is no longer written: whole keys, no filter, nothing packed. {@code
 * first_table_format.md} describes it.
 */
final class FirstFormatTable extends Table {

    static final int FOOTER_BYTES = 64;
    private static final int FOOTER_INDEX_OFFSET = 0;
    private static final int FOOTER_INDEX_LENGTH = 8;
    private static final int FOOTER_ENTRIES = 16;
    private static final int FOOTER_TOMBSTONES = 24;
    private static final int FOOTER_BLOCKS = 32;
    private static final int FOOTER_INDEX_CHECKSUM = 40;
    private static final int ENTRY_HEADER_BYTES = 8;
    /** Entry count and checksum at the end of a block, after the entry offsets. */
    private static final int BLOCK_TAIL_BYTES = 8;

    private final int indexChecksum;
    private final long entries;
    private final long tombstones;
    private final long blocks;
    private final long blockOffsets;
    private final long separatorEnds;
    private final long separators;
    private final byte[] firstKey;
    private final byte[] lastKey;

    FirstFormatTable(long id, Path file, Arena arena, MemorySegment data) {
        super(id, file, arena, data);
        long footer = checkedFooter(file, data, FOOTER_BYTES);
        long index = data.get(LONG, footer + FOOTER_INDEX_OFFSET);
        long indexEnd = index + data.get(LONG, footer + FOOTER_INDEX_LENGTH);
        if (indexEnd != footer) {
            throw new CorruptionException(file, footer, "the index ends at " + indexEnd + ", not at the footer");
        }
        entries = data.get(LONG, footer + FOOTER_ENTRIES);
        tombstones = data.get(LONG, footer + FOOTER_TOMBSTONES);
        blocks = data.get(LONG, footer + FOOTER_BLOCKS);
        indexChecksum = data.get(INT, footer + FOOTER_INDEX_CHECKSUM);
        check(file, data, index, footer, "index", indexChecksum);
        blockOffsets = index;
        separatorEnds = blockOffsets + (blocks + 1) * Long.BYTES;
        separators = separatorEnds + blocks * Long.BYTES;
        checkAtOpen(0);
        firstKey = keyAt(blockOffset(0));
        checkAtOpen(blocks - 1);
        long end = blockOffset(blocks);
        int count = entryCount(end);
        lastKey = keyAt(blockOffset(blocks - 1) + entryOffset(end, count, count - 1));
    }

    private void checkAtOpen(long block) {
        long end = blockOffset(block + 1) - Integer.BYTES;
        check(file(), data, blockOffset(block), end, "block", data.get(INT, end));
    }

    private byte[] keyAt(long entry) {
        return data.asSlice(entry + ENTRY_HEADER_BYTES, keyLength(entry)).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    public long entries() {
        return entries;
    }

    @Override
    public long tombstones() {
        return tombstones;
    }

    @Override
    public long oldEntries() {
        return 0;
    }

    @Override
    public byte[] firstKey() {
        return firstKey;
    }

    @Override
    public byte[] lastKey() {
        return lastKey;
    }

    @Override
    public long blocks() {
        return blocks;
    }

    @Override
    byte[] blockStart(long block) {
        long from = block == 0 ? 0 : data.get(LONG, separatorEnds + (block - 1) * Long.BYTES);
        long to = data.get(LONG, separatorEnds + block * Long.BYTES);
        return data.asSlice(separators + from, to - from).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    void verifyIndex(Checks by, Supplier<DamagedRange> all) {
        by.check("index", -1, blockOffsets, data.byteSize() - FOOTER_BYTES, indexChecksum, all);
    }

    @Override
    long blockOffset(long block) {
        return data.get(LONG, blockOffsets + block * Long.BYTES);
    }

    @Override
    boolean mayContain(Lookup lookup) {
        return find(lookup);
    }

    @Override
    public boolean find(Lookup lookup) {
        long block = blockFor(lookup.key, lookup.keyLength);
        if (block < 0) {
            return false;
        }
        checkBlock(block);
        long start = blockOffset(block);
        long end = blockOffset(block + 1);
        int count = entryCount(end);
        int at = lowerBound(lookup.key, lookup.keyLength, start, end, count);
        if (at == count) {
            return false;
        }
        long entry = start + entryOffset(end, count, at);
        if (compareKey(entry, lookup.key, lookup.keyLength) != 0) {
            return false;
        }
        lookup.found(data, valueOffset(entry), valueLength(entry));
        return true;
    }

    /** The last block whose separator is not greater than the key; -1 if all are. */
    @Override
    long blockFor(byte[] key, int keyLength) {
        long low = 0;
        long high = blocks;
        while (low < high) {
            long middle = (low + high) >>> 1;
            long from = middle == 0 ? 0 : data.get(LONG, separatorEnds + (middle - 1) * Long.BYTES);
            long to = data.get(LONG, separatorEnds + middle * Long.BYTES);
            if (Keys.compare(data, separators + from, (int) (to - from), key, 0, keyLength) <= 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    /** Index in the block of the first entry whose key is not smaller. */
    int lowerBound(byte[] key, int keyLength, long start, long end, int count) {
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (compareKey(start + entryOffset(end, count, middle), key, keyLength) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    int entryCount(long blockEnd) {
        return data.get(INT, blockEnd - BLOCK_TAIL_BYTES);
    }

    int entryOffset(long blockEnd, int count, int index) {
        return data.get(INT, blockEnd - BLOCK_TAIL_BYTES - (long) (count - index) * Integer.BYTES);
    }

    private int compareKey(long entry, byte[] key, int keyLength) {
        return Keys.compare(data, keyOffset(entry), keyLength(entry), key, 0, keyLength);
    }

    long keyOffset(long entry) {
        return entry + ENTRY_HEADER_BYTES;
    }

    int keyLength(long entry) {
        return data.get(INT, entry);
    }

    long valueOffset(long entry) {
        return keyOffset(entry) + keyLength(entry);
    }

    int valueLength(long entry) {
        return data.get(INT, entry + Integer.BYTES);
    }

    @Override
    public EntryCursor cursor(byte[] from, byte[] to) {
        return new FirstFormatCursor(this, from, to, false);
    }

    @Override
    public EntryCursor verifiedCursor(byte[] from, byte[] to) {
        return new FirstFormatCursor(this, from, to, true);
    }

    @Override
    BlockwiseCursor blockwise() {
        return new FirstFormatCursor(this);
    }
}
