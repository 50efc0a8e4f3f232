package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.BYTE;
import static lab.storage.lsm.disk.Encoding.INT;
import static lab.storage.lsm.disk.Encoding.LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.function.Supplier;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;

/** A table as {@code table_format.md} describes it: filter, prefix-compressed blocks, and an index of numbers. */
final class BlockTable extends Table {

    /** Numbers of the parts that are no blocks. */
    private static final long FOOTER = -1;
    private static final long INDEX = -2;
    private static final long FILTER = -3;

    private final int footerChecksum;
    private final int filterChecksum;
    private final int indexChecksum;
    private final long entries;
    private final long tombstones;
    private final long oldEntries;
    private final long blocks;
    private final long filterOffset;
    private final long filterLength;
    private final int filterProbes;
    private final long prefixes;
    private final long blockOffsets;
    private final long separatorEnds;
    private final long separators;
    private final byte[] firstKey;
    private final byte[] lastKey;
    /** Bytes with which every key of the table starts. */
    private final int shared;

    BlockTable(long id, Path file, Arena arena, MemorySegment data) {
        super(id, file, arena, data);
        long footer = checkedFooter(file, data, TableFormat.FOOTER_BYTES);
        long index = data.get(LONG, footer + TableFormat.FOOTER_INDEX_OFFSET);
        long indexEnd = index + data.get(LONG, footer + TableFormat.FOOTER_INDEX_LENGTH);
        if (indexEnd != footer) {
            throw new CorruptionException(file, footer, "the index ends at " + indexEnd + ", not at the footer");
        }
        filterOffset = data.get(LONG, footer + TableFormat.FOOTER_FILTER_OFFSET);
        filterLength = data.get(LONG, footer + TableFormat.FOOTER_FILTER_LENGTH);
        filterProbes = data.get(INT, footer + TableFormat.FOOTER_FILTER_PROBES);
        entries = data.get(LONG, footer + TableFormat.FOOTER_ENTRIES);
        tombstones = data.get(LONG, footer + TableFormat.FOOTER_TOMBSTONES);
        oldEntries = data.get(LONG, footer + TableFormat.FOOTER_OLD_ENTRIES);
        blocks = data.get(LONG, footer + TableFormat.FOOTER_BLOCKS);
        footerChecksum = data.get(INT, data.byteSize() - TableFormat.CHECKSUM_FROM_END);
        filterChecksum = data.get(INT, footer + TableFormat.FOOTER_FILTER_CHECKSUM);
        indexChecksum = data.get(INT, footer + TableFormat.FOOTER_INDEX_CHECKSUM);
        check(file, data, filterOffset, filterOffset + filterLength, "filter", filterChecksum);
        check(file, data, index, footer, "index", indexChecksum);
        int firstLength = data.get(INT, index);
        int lastLength = data.get(INT, index + Integer.BYTES);
        shared = data.get(INT, index + 2 * Integer.BYTES);
        prefixes = index + TableFormat.INDEX_HEAD_BYTES;
        blockOffsets = prefixes + blocks * Long.BYTES;
        separatorEnds = blockOffsets + (blocks + 1) * Long.BYTES;
        separators = separatorEnds + blocks * Integer.BYTES;
        firstKey = data.asSlice(footer - lastLength - firstLength, firstLength).toArray(ValueLayout.JAVA_BYTE);
        lastKey = data.asSlice(footer - lastLength, lastLength).toArray(ValueLayout.JAVA_BYTE);
        checkZeros(data.get(LONG, blockOffsets + blocks * Long.BYTES), filterOffset);
    }

    private void checkZeros(long from, long to) {
        for (long at = from; at < to; at++) {
            if (data.get(BYTE, at) != 0) {
                throw new CorruptionException(file(), at, "the bytes between blocks and filter are not zero");
            }
        }
    }

    @Override
    long blockOffset(long block) {
        return data.get(LONG, blockOffsets + block * Long.BYTES);
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
        return oldEntries;
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
        if (block == 0) {
            return firstKey;
        }
        int from = data.get(INT, separatorEnds + (block - 1) * Integer.BYTES);
        int to = data.get(INT, separatorEnds + block * Integer.BYTES);
        return data.asSlice(separators + from, to - from).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    void verifyIndex(BlockChecksums by, Supplier<DamagedRange> all) {
        long footer = data.byteSize() - TableFormat.FOOTER_BYTES;
        by.check("footer", FOOTER, footer, data.byteSize() - TableFormat.CHECKSUM_FROM_END, footerChecksum, all);
        by.check("index", INDEX, prefixes - TableFormat.INDEX_HEAD_BYTES, footer, indexChecksum, all);
        by.check("filter", FILTER, filterOffset, filterOffset + filterLength, filterChecksum, all);
    }

    @Override
    boolean mayContain(Lookup lookup) {
        return filterLength == 0 ? find(lookup)
                : BloomFilter.mayContain(data, filterOffset, filterLength, filterProbes, lookup.hash);
    }

    @Override
    public boolean find(Lookup lookup) {
        if (filterLength > 0) {
            lookup.filtersAsked++;
            if (!BloomFilter.mayContain(data, filterOffset, filterLength, filterProbes, lookup.hash)) {
                lookup.filtersNo++;
                return false;
            }
        }
        long last = lookup.lastBlock(this);
        boolean hasEntry = last >= 0 && endsBehind(last, lookup) ? findIn(last, lookup) : findInNext(lookup);
        if (!hasEntry && filterLength > 0) {
            lookup.filtersWrong++;
        }
        return hasEntry;
    }

    /** Looks into another block than the key before. */
    private boolean findInNext(Lookup lookup) {
        long block = blockFor(lookup.key, lookup.keyLength);
        if (block < 0) {
            return false;
        }
        checkBlock(block);
        lookup.remember(this, block);
        return findIn(block, lookup);
    }

    /** Whether a key that does not come before a block comes before the next one. */
    private boolean endsBehind(long block, Lookup lookup) {
        return block + 1 == blocks || compareSeparator(block + 1, lookup.key, lookup.keyLength) > 0;
    }

    private boolean findIn(long block, Lookup lookup) {
        long start = blockOffset(block);
        long end = blockOffset(block + 1) - TableFormat.BLOCK_TAIL_BYTES;
        int code = data.get(BYTE, end);
        if (code == 0) {
            return Block.find(data, start, end, lookup);
        }
        BlockBuffer buffer = lookup.buffer();
        MemorySegment contents = buffer.unpack(this, block, compression(start, code), data, start, end);
        return Block.find(contents, 0, buffer.length(), lookup);
    }

    /** How a block is packed. */
    Compression compression(long blockStart, int code) {
        Compression compression = Compression.ofCode(code);
        if (compression == null) {
            throw new CorruptionException(file(), blockStart, "the block is packed in a way that has the unknown code "
                    + code);
        }
        return compression;
    }

    /** The last block whose separator is not greater than the key; -1 if the key comes before the table's keys. */
    @Override
    long blockFor(byte[] key, int keyLength) {
        int same = Math.min(shared, keyLength);
        int order = java.util.Arrays.compareUnsigned(key, 0, same, firstKey, 0, same);
        if (order != 0 || keyLength < shared) {
            return order <= 0 ? -1 : blocks - 1;
        }
        long wanted = Keys.prefix(key, shared, keyLength) + Long.MIN_VALUE;
        long low = 1;
        long high = blocks;
        // The first block has no separator and stands for everything before the second one.
        while (low < high) {
            long middle = (low + high) >>> 1;
            if (data.get(LONG, prefixes + middle * Long.BYTES) + Long.MIN_VALUE < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == blocks || data.get(LONG, prefixes + low * Long.BYTES) + Long.MIN_VALUE != wanted) {
            return low - 1;
        }
        return amongEqual(low, wanted, key, keyLength);
    }

    /** Where eight bytes do not tell the separators apart, the whole of them does. */
    private long amongEqual(long first, long wanted, byte[] key, int keyLength) {
        long low = first;
        long high = blocks;
        while (low < high) {
            long middle = (low + high) >>> 1;
            if (data.get(LONG, prefixes + middle * Long.BYTES) + Long.MIN_VALUE > wanted
                    || compareSeparator(middle, key, keyLength) > 0) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low - 1;
    }

    private int compareSeparator(long block, byte[] key, int keyLength) {
        int from = block == 0 ? 0 : data.get(INT, separatorEnds + (block - 1) * Integer.BYTES);
        int to = data.get(INT, separatorEnds + block * Integer.BYTES);
        return Keys.compare(data, separators + from, to - from, key, 0, keyLength);
    }

    @Override
    public EntryCursor cursor(byte[] from, byte[] to) {
        return new BlockTableCursor(this, from, to, false);
    }

    @Override
    public EntryCursor verifiedCursor(byte[] from, byte[] to) {
        return new BlockTableCursor(this, from, to, true);
    }

    @Override
    BlockTableCursor blockwise() {
        return new BlockTableCursor(this);
    }
}
