package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.INT;
import static lab.storage.lsm.disk.Encoding.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import lab.storage.StorageException;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.disk.Encoding;
import lab.storage.lsm.entry.EntryCursor;

/**
 * An immutable sorted file, mapped into memory.
 *
 * <p>Life cycle: {@link #open} gives a table with one reference. Whoever uses it holds a reference; the one that gives
 * the last reference back unmaps the file, and deletes it if the table was declared obsolete. So no reader ever sees an
 * unmapped table.
 *
 * <p>Index, filter and footer are checked when the table is opened, a block when it is read for the first time or each
 * time, and each time that it is merged, and all of it now and then by {@link #verify}.
 */
public abstract class Table {

    /** The table, its mapping and its channel, roughly. */
    private static final int OBJECTS_BYTES = 1024;

    private final long id;
    private final Path file;
    private final Arena arena;
    /** The whole file. */
    final MemorySegment data;
    private final AtomicInteger references = new AtomicInteger(1);
    private Disk disk = Disk.REAL;
    private Executor cleaner = Runnable::run;
    private BlockChecksums checks;
    private volatile boolean obsolete;

    Table(long id, Path file, Arena arena, MemorySegment data) {
        this.id = id;
        this.file = file;
        this.arena = arena;
        this.data = data;
    }

    /** Opens a table that is unmapped and deleted on the thread that gives the last reference back. */
    public static Table open(long id, Path file) throws IOException {
        return open(id, file, Disk.REAL, Runnable::run, false);
    }

    /**
     * Maps a table file and checks its index, filter and footer.
     *
     * @param cleaner   does the unmapping and deleting, which may take milliseconds
     * @param everyRead whether a block is checked each time that it is read
     * @throws CorruptionException if they are damaged
     */
    public static Table open(long id, Path file, Disk disk, Executor cleaner, boolean everyRead)
            throws IOException {
        Arena arena = Arena.ofShared();
        FileChannel channel = null;
        try {
            channel = disk.openToRead(file);
            MemorySegment data = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            checkFormat(file, data);
            Table table = new BlockTable(id, file, arena, data);
            table.disk = disk;
            table.cleanWith(cleaner);
            table.checks = new BlockChecksums(disk, file, channel, table.blocks(), everyRead);
            return table;
        } catch (Throwable e) {
            arena.close();
            if (channel != null) {
                channel.close();
            }
            throw e;
        }
    }

    private static void checkFormat(Path file, MemorySegment data) {
        long size = data.byteSize();
        if (size < TableFormat.FOOTER_BYTES) {
            throw new CorruptionException(file, 0, "the file has " + size + " bytes, fewer than a footer");
        }
        if (data.get(LONG, size - TableFormat.MAGIC_FROM_END) != TableFormat.MAGIC) {
            throw new CorruptionException(file, size - TableFormat.MAGIC_FROM_END, "this is not the end of a table");
        }
        int version = data.get(INT, size - TableFormat.VERSION_FROM_END);
        if (version != TableFormat.VERSION) {
            throw new CorruptionException(file, size - TableFormat.VERSION_FROM_END, "the format has version " + version
                    + ", this program knows " + TableFormat.VERSION);
        }
    }

    /** Position of the footer, after its checksum was found right. */
    static long checkedFooter(Path file, MemorySegment data, int footerBytes) {
        long footer = data.byteSize() - footerBytes;
        long checked = data.byteSize() - TableFormat.CHECKSUM_FROM_END;
        int expected = data.get(INT, checked);
        int got = Encoding.checksum(data, footer, checked);
        if (got != expected) {
            throw CorruptionException.checksum(file, footer, "footer", expected, got);
        }
        return footer;
    }

    /** Checks a part of the file against a checksum. */
    static void check(Path file, MemorySegment data, long from, long to, String part, int expected) {
        int got = Encoding.checksum(data, from, to);
        if (got != expected) {
            throw CorruptionException.checksum(file, from, part, expected, got);
        }
    }

    /** Checks a block that is about to be read, unless it was found right before and that is enough. */
    final void checkBlock(long block) {
        if (!checks.foundRight(block) || checks.everyRead() && !isRight(block)) {
            verifyBlock(block);
        }
    }

    private boolean isRight(long block) {
        long end = blockOffset(block + 1) - Integer.BYTES;
        return checks.isRight(data, blockOffset(block), end, data.get(INT, end));
    }

    /** Checks a block against its checksum, whatever was found before. */
    final void verifyBlock(long block) {
        long start = blockOffset(block);
        long end = blockOffset(block + 1);
        checks.check("block", block, start, end - Integer.BYTES, data.get(INT, end - Integer.BYTES),
                () -> new DamagedRange(file, start, blockStart(block),
                        block + 1 < blocks() ? blockStart(block + 1) : lastKey()));
    }

    /**
     * Checks some blocks again, and with the first one what leads to them.
     *
     * @param from  number of the first block
     * @param bytes stops after so many
     * @return number of the next block; {@link #blocks()} at the end
     */
    public final long verify(long from, long bytes) {
        long block = from;
        if (block == 0) {
            quietly(() -> verifyIndex(checks,
                    () -> new DamagedRange(file, blockOffset(blocks()), firstKey(), lastKey())));
        }
        long until = block < blocks() ? blockOffset(block) + bytes : 0;
        while (block < blocks() && blockOffset(block) < until) {
            long checked = block++;
            quietly(() -> verifyBlock(checked));
        }
        return block;
    }

    private static void quietly(Runnable check) {
        try {
            check.run();
        } catch (StorageException e) {
            // It was logged, and is remembered.
        }
    }

    /** What was found damaged. */
    public final Collection<DamagedRange> damaged() {
        return checks == null ? List.of() : checks.damaged();
    }

    /** Whether a part of it is known to be damaged. */
    public final boolean isDamaged() {
        return !damaged().isEmpty();
    }

    /**
     * Says what is behind the error that Java makes of the signal for a page of a mapped file that cannot be read.
     *
     * @param tables those that were read
     */
    public static StorageException unreadable(List<Table> tables, InternalError signal) {
        for (Table table : tables) {
            long sizeBytes = table.file.toFile().length();
            if (sizeBytes < table.sizeBytes()) {
                return new CorruptionException(table.file, sizeBytes, "the file has become shorter while it was in use; it had "
                        + table.sizeBytes() + " bytes");
            }
        }
        return new StorageException("A page of a table in " + (tables.isEmpty() ? "the store" : tables.getFirst().file
                .getParent()) + " cannot be read: " + signal.getMessage() + ". Check the disk; the log of the kernel says more.",
                signal);
    }

    /** Checks again what was checked at open. */
    abstract void verifyIndex(BlockChecksums by, Supplier<DamagedRange> all);

    /** Number of blocks. */
    public abstract long blocks();

    /** A key that is not greater than the keys of a block, and greater than those of the block before. */
    abstract byte[] blockStart(long block);

    /** Where a block starts, or, for the number after the last one, where the blocks end. */
    abstract long blockOffset(long block);

    /** Entries, deletes included. */
    public abstract long entries();

    /** Deletes among the entries. */
    public abstract long tombstones();

    /** Estimate of the keys that older tables had too when this one was written. */
    public abstract long oldEntries();

    /** The smallest key. Not to be changed. */
    public abstract byte[] firstKey();

    /** The largest key. Not to be changed. */
    public abstract byte[] lastKey();

    /** False if the key is certainly absent. Asks the filter; where there is none, it costs a search. */
    abstract boolean mayContain(Lookup lookup);

    /** Looks a key up; if it is there, also as a delete, tells the lookup where. */
    public abstract boolean find(Lookup lookup);

    /**
     * Walks over a part. The caller holds a reference as long as it uses the cursor.
     *
     * @param from first key, or null
     * @param to   key after the last one, or null
     */
    public abstract EntryCursor cursor(byte[] from, byte[] to);

    /** The same, but checks each block again: what is merged is written anew, with a checksum that is right. */
    public abstract EntryCursor verifiedCursor(byte[] from, byte[] to);

    /** Whether it may have keys of a part. */
    public final boolean overlaps(byte[] from, byte[] to) {
        return (from == null || Arrays.compareUnsigned(lastKey(), from) >= 0)
                && (to == null || Arrays.compareUnsigned(firstKey(), to) < 0);
    }

    /** Says who unmaps and deletes. */
    final void cleanWith(Executor executor) {
        cleaner = executor;
    }

    final int references() {
        return references.get();
    }

    /**
     * Walks over the blocks that are whole, for a table of which others are damaged.
     *
     * @param damaged receives each block that is left out
     */
    public final EntryCursor salvage(Consumer<CorruptionException> damaged) {
        return new SalvageCursor(this, damaged);
    }

    /** The last block that does not start after a key; -1 if the key comes before those of the table. */
    abstract long blockFor(byte[] key, int keyLength);

    /** Walks over single blocks. */
    abstract BlockTableCursor blockwise();

    /** Takes a reference. Only for one who knows that somebody else holds one. */
    public final void retain() {
        references.getAndIncrement();
    }

    /** Gives a reference back. */
    public final void release() {
        if (references.decrementAndGet() == 0) {
            cleaner.execute(this::dispose);
        }
    }

    private void dispose() {
        arena.close();
        if (checks != null) {
            checks.close();
        }
        if (obsolete) {
            try {
                disk.delete(file);
            } catch (IOException e) {
                // The manifest no longer names it, so the next start removes it.
            }
        }
    }

    /** Says that the file is to be deleted with the last reference. */
    public final void markObsolete() {
        obsolete = true;
    }

    /** Returns the number in the name of the file. */
    public final long id() {
        return id;
    }

    public final Path file() {
        return file;
    }

    /** Bytes that it needs on the heap as long as it is open. */
    public final long heapBytes() {
        return OBJECTS_BYTES + firstKey().length + lastKey().length + checks.heapBytes();
    }

    /** Bytes of its index and its filter, which are read where they are mapped. */
    public final long indexAndFilterBytes() {
        return sizeBytes() - blockOffset(blocks());
    }

    /** Returns the size of the file. */
    public final long sizeBytes() {
        return data.byteSize();
    }
}
