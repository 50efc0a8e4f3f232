package lab.storage.lsm;

import static lab.storage.lsm.TableFormat.INT;
import static lab.storage.lsm.TableFormat.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * An immutable sorted file, mapped into memory.
 *
 * <p>Life cycle: {@link #open} gives a table with one reference. Whoever uses it holds a reference; the one that gives
 * the last reference back unmaps the file, and deletes it if the table was declared obsolete. So no reader ever sees an
 * unmapped table.
 *
 * <p>Index, filter and footer are checked when the table is opened, a block when it is read for the first time.
 */
abstract class Table {

    private static final int BLOCKS_PER_WORD = 64;

    private final long id;
    private final Path file;
    private final Arena arena;
    /** The whole file. */
    final MemorySegment data;
    private final AtomicInteger references = new AtomicInteger(1);
    private Disk disk = Disk.REAL;
    private Executor cleaner = Runnable::run;
    private AtomicLongArray checkedBlocks;
    private volatile boolean obsolete;

    Table(long id, Path file, Arena arena, MemorySegment data) {
        this.id = id;
        this.file = file;
        this.arena = arena;
        this.data = data;
    }

    /** Opens a table that is unmapped and deleted on the thread that gives the last reference back. */
    static Table open(long id, Path file) throws IOException {
        return open(id, file, Disk.REAL, Runnable::run);
    }

    /**
     * Maps a table file of any known format and checks its index, filter and footer.
     *
     * @param cleaner does the unmapping and deleting, which may take milliseconds
     * @throws CorruptionException if they are damaged
     */
    static Table open(long id, Path file, Disk disk, Executor cleaner) throws IOException {
        Arena arena = Arena.ofShared();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            MemorySegment data = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            int version = version(file, data);
            Table table = switch (version) {
                case TableFormat.FIRST_VERSION -> new FirstFormatTable(id, file, arena, data);
                case TableFormat.VERSION -> new BlockTable(id, file, arena, data);
                default -> throw new CorruptionException(file, data.byteSize() - TableFormat.VERSION_FROM_END,
                        "the format has version " + version + ", this program knows " + TableFormat.FIRST_VERSION
                                + " to " + TableFormat.VERSION);
            };
            table.disk = disk;
            table.cleaner = cleaner;
            return table;
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    private static int version(Path file, MemorySegment data) {
        long size = data.byteSize();
        if (size < FirstFormatTable.FOOTER_BYTES) {
            throw new CorruptionException(file, 0, "the file has " + size + " bytes, fewer than a footer");
        }
        if (data.get(LONG, size - TableFormat.MAGIC_FROM_END) != TableFormat.MAGIC) {
            throw new CorruptionException(file, size - TableFormat.MAGIC_FROM_END, "this is not the end of a table");
        }
        return data.get(INT, size - TableFormat.VERSION_FROM_END);
    }

    /** Position of the footer, after its checksum was found right. */
    static long checkedFooter(Path file, MemorySegment data, int footerBytes) {
        long footer = data.byteSize() - footerBytes;
        if (footer < 0) {
            throw new CorruptionException(file, 0, "the file has " + data.byteSize() + " bytes, fewer than a footer");
        }
        long checked = data.byteSize() - TableFormat.CHECKSUM_FROM_END;
        int expected = data.get(INT, checked);
        int got = TableFormat.checksum(data, footer, checked);
        if (got != expected) {
            throw CorruptionException.checksum(file, footer, "footer", expected, got);
        }
        return footer;
    }

    /** Checks a part of the file against a checksum. */
    static void check(Path file, MemorySegment data, long from, long to, String part, int expected) {
        int got = TableFormat.checksum(data, from, to);
        if (got != expected) {
            throw CorruptionException.checksum(file, from, part, expected, got);
        }
    }

    /** Remembers which blocks were checked; called once the number of blocks is known. */
    final void blocksToCheck(long blocks) {
        checkedBlocks = new AtomicLongArray((int) (blocks / BLOCKS_PER_WORD + 1));
    }

    /** Checks a block against its checksum, the first time that it is asked for it. */
    final void checkBlock(long block) {
        int word = (int) (block / BLOCKS_PER_WORD);
        long bit = 1L << (block % BLOCKS_PER_WORD);
        if ((checkedBlocks.getPlain(word) & bit) != 0) {
            return;
        }
        long start = blockOffset(block);
        long end = blockOffset(block + 1);
        check(file, data, start, end - Integer.BYTES, "block", data.get(INT, end - Integer.BYTES));
        checkedBlocks.getAndUpdate(word, old -> old | bit);
    }

    /** Where a block starts, or, for the number after the last one, where the blocks end. */
    abstract long blockOffset(long block);

    /** Entries, deletes included. */
    abstract long entries();

    abstract long tombstones();

    /** Estimate of the keys that older tables had too when this one was written. */
    abstract long oldEntries();

    /** The smallest key. Not to be changed. */
    abstract byte[] firstKey();

    /** The largest key. Not to be changed. */
    abstract byte[] lastKey();

    /** False if the key is certainly absent. Asks the filter; where there is none, the answer costs a search. */
    abstract boolean mayContain(Lookup lookup);

    /** Looks a key up; if it is there, also as a delete, tells the lookup where. */
    abstract boolean find(Lookup lookup);

    /**
     * Walks over a part. The caller holds a reference as long as it uses the cursor.
     *
     * @param from first key, or null
     * @param to   key after the last one, or null
     */
    abstract EntryCursor cursor(byte[] from, byte[] to);

    /** Takes a reference. Only for one who knows that somebody else holds one. */
    final void retain() {
        references.getAndIncrement();
    }

    /** Gives a reference back. */
    final void release() {
        if (references.decrementAndGet() == 0) {
            cleaner.execute(this::dispose);
        }
    }

    private void dispose() {
        arena.close();
        if (obsolete) {
            try {
                disk.delete(file);
            } catch (IOException e) {
                // The manifest no longer names it, so the next start removes it.
            }
        }
    }

    /** Says that the file is to be deleted with the last reference. */
    final void markObsolete() {
        obsolete = true;
    }

    final long id() {
        return id;
    }

    final Path file() {
        return file;
    }

    final long sizeBytes() {
        return data.byteSize();
    }
}
