package lab.storage.lsm;

import static lab.storage.lsm.TableFormat.INT;
import static lab.storage.lsm.TableFormat.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import lab.storage.Bytes;

/**
 * An immutable sorted file, mapped into memory.
 *
 * <p>Life cycle: {@link #open} gives a table with one reference. Whoever uses it holds a reference; the one that gives
 * the last reference back unmaps the file, and deletes it if the table was declared obsolete. So no reader ever sees an
 * unmapped table.
 *
 * <p>Index and footer are checked when the table is opened, a block when it is read for the first time.
 */
final class Table {

    private static final int BLOCKS_PER_WORD = 64;

    private final long id;
    private final Path file;
    private final Arena arena;
    private final MemorySegment data;
    private final long entries;
    private final long tombstones;
    private final long blocks;
    private final long blockOffsets;
    private final long separatorEnds;
    private final long separators;
    private final AtomicLongArray checkedBlocks;
    private final AtomicInteger references = new AtomicInteger(1);
    private volatile boolean obsolete;

    private Table(long id, Path file, Arena arena, MemorySegment data) {
        this.id = id;
        this.file = file;
        this.arena = arena;
        this.data = data;
        long footer = checkedFooter();
        long indexOffset = data.get(LONG, footer + TableFormat.FOOTER_INDEX_OFFSET);
        entries = data.get(LONG, footer + TableFormat.FOOTER_ENTRIES);
        tombstones = data.get(LONG, footer + TableFormat.FOOTER_TOMBSTONES);
        blocks = data.get(LONG, footer + TableFormat.FOOTER_BLOCKS);
        int expected = data.get(INT, footer + TableFormat.FOOTER_INDEX_CHECKSUM);
        int got = TableFormat.checksum(data, indexOffset, footer);
        if (got != expected) {
            throw CorruptionException.checksum(file, indexOffset, "index", expected, got);
        }
        blockOffsets = indexOffset;
        separatorEnds = blockOffsets + (blocks + 1) * Long.BYTES;
        separators = separatorEnds + blocks * Long.BYTES;
        checkedBlocks = new AtomicLongArray((int) (blocks / BLOCKS_PER_WORD + 1));
    }

    /**
     * Maps a table file and checks its index and footer.
     *
     * @throws CorruptionException if they are damaged
     */
    static Table open(long id, Path file) throws IOException {
        Arena arena = Arena.ofShared();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            MemorySegment data = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            return new Table(id, file, arena, data);
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    private long checkedFooter() {
        long footer = data.byteSize() - TableFormat.FOOTER_BYTES;
        if (footer < 0) {
            throw new CorruptionException(file, 0, "the file has " + data.byteSize() + " bytes, fewer than a footer");
        }
        long magic = data.get(LONG, footer + TableFormat.FOOTER_MAGIC);
        if (magic != TableFormat.MAGIC) {
            throw new CorruptionException(file, footer + TableFormat.FOOTER_MAGIC, "this is not the end of a table");
        }
        int expected = data.get(INT, footer + TableFormat.FOOTER_CHECKSUM);
        int got = TableFormat.checksum(data, footer, footer + TableFormat.FOOTER_CHECKSUM);
        if (got != expected) {
            throw CorruptionException.checksum(file, footer, "footer", expected, got);
        }
        int version = data.get(INT, footer + TableFormat.FOOTER_FORMAT_VERSION);
        if (version != TableFormat.VERSION) {
            throw new CorruptionException(file, footer + TableFormat.FOOTER_FORMAT_VERSION,
                    "the format has version " + version + ", this program knows " + TableFormat.VERSION);
        }
        long indexEnd = data.get(LONG, footer + TableFormat.FOOTER_INDEX_OFFSET)
                + data.get(LONG, footer + TableFormat.FOOTER_INDEX_LENGTH);
        if (indexEnd != footer) {
            throw new CorruptionException(file, footer, "the index ends at " + indexEnd + ", not at the footer");
        }
        return footer;
    }

    /** Takes a reference. Only for one who knows that somebody else holds one. */
    void retain() {
        references.getAndIncrement();
    }

    /** Gives a reference back. */
    void release() {
        if (references.decrementAndGet() == 0) {
            arena.close();
            if (obsolete) {
                try {
                    Files.deleteIfExists(file);
                } catch (IOException e) {
                    // The manifest no longer names it, so the next start removes it.
                }
            }
        }
    }

    /** Says that the file is to be deleted with the last reference. */
    void markObsolete() {
        obsolete = true;
    }

    long id() {
        return id;
    }

    Path file() {
        return file;
    }

    long sizeBytes() {
        return data.byteSize();
    }

    long entries() {
        return entries;
    }

    long tombstones() {
        return tombstones;
    }

    long blocks() {
        return blocks;
    }

    MemorySegment data() {
        return data;
    }

    long blockOffset(long block) {
        return data.get(LONG, blockOffsets + block * Long.BYTES);
    }

    /**
     * Looks a key up.
     *
     * @return offset of its entry, or -1
     */
    long find(MemorySegment key) {
        long block = blockFor(key);
        if (block < 0) {
            return -1;
        }
        checkBlock(block);
        long start = blockOffset(block);
        long end = blockOffset(block + 1);
        int count = entryCount(end);
        int at = lowerBound(key, start, end, count);
        if (at == count) {
            return -1;
        }
        long entry = start + entryOffset(end, count, at);
        return compareKey(entry, key) == 0 ? entry : -1;
    }

    /** The last block whose separator is not greater than the key; -1 if all are. */
    long blockFor(MemorySegment key) {
        long low = 0;
        long high = blocks;
        long keyBytes = key.byteSize();
        while (low < high) {
            long middle = (low + high) >>> 1;
            long from = middle == 0 ? 0 : data.get(LONG, separatorEnds + (middle - 1) * Long.BYTES);
            long to = data.get(LONG, separatorEnds + middle * Long.BYTES);
            if (Bytes.compare(data, separators + from, separators + to, key, 0, keyBytes) <= 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    /** Index in the block of the first entry whose key is not smaller. */
    int lowerBound(MemorySegment key, long start, long end, int count) {
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (compareKey(start + entryOffset(end, count, middle), key) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    int entryCount(long blockEnd) {
        return data.get(INT, blockEnd - TableFormat.BLOCK_TAIL_BYTES);
    }

    int entryOffset(long blockEnd, int count, int index) {
        return data.get(INT, blockEnd - TableFormat.BLOCK_TAIL_BYTES - (long) (count - index) * Integer.BYTES);
    }

    private int compareKey(long entry, MemorySegment key) {
        long from = entry + TableFormat.ENTRY_HEADER_BYTES;
        return Bytes.compare(data, from, from + data.get(INT, entry), key, 0, key.byteSize());
    }

    MemorySegment keyAt(long entry) {
        return data.asSlice(entry + TableFormat.ENTRY_HEADER_BYTES, data.get(INT, entry));
    }

    /** Value of the entry, or null for a delete. */
    MemorySegment valueAt(long entry) {
        int keyBytes = data.get(INT, entry);
        int valueBytes = data.get(INT, entry + Integer.BYTES);
        return valueBytes == TableFormat.TOMBSTONE ? null
                : data.asSlice(entry + TableFormat.ENTRY_HEADER_BYTES + keyBytes, valueBytes);
    }

    /** Checks a block against its checksum, the first time that it is asked for it. */
    void checkBlock(long block) {
        int word = (int) (block / BLOCKS_PER_WORD);
        long bit = 1L << (block % BLOCKS_PER_WORD);
        if ((checkedBlocks.getPlain(word) & bit) != 0) {
            return;
        }
        long start = blockOffset(block);
        long end = blockOffset(block + 1);
        int expected = data.get(INT, end - Integer.BYTES);
        int got = TableFormat.checksum(data, start, end - Integer.BYTES);
        if (got != expected) {
            throw CorruptionException.checksum(file, start, "block", expected, got);
        }
        checkedBlocks.getAndUpdate(word, old -> old | bit);
    }
}
