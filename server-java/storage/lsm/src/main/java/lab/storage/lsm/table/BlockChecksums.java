package lab.storage.lsm.table;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Collection;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Supplier;
import java.util.zip.CRC32C;
import lab.storage.StorageException;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the parts of one table file against their checksums, and remembers which are damaged.
 *
 * <p>It reads in the ordinary way, not through the mapping: a disk that cannot read a page is an {@link IOException}
 * here, and afterwards the page is in the kernel's memory, where the mapping finds it. Only a block that was found right
 * before is looked at where it is mapped ({@link #isRight}), which spares a call of the kernel for each get.
 */
final class BlockChecksums {

    private static final Logger LOG = LoggerFactory.getLogger(BlockChecksums.class);
    private static final int BLOCKS_PER_WORD = 64;
    private static final int PIECE_BYTES = 16 * 1024;
    private static final ThreadLocal<ByteBuffer> PIECE =
            ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(PIECE_BYTES));

    private final Disk disk;
    private final Path file;
    private final boolean everyRead;
    /** A bit for each block that was found right when it was last checked in its file. */
    private final AtomicLongArray right;
    private final ConcurrentSkipListMap<Long, DamagedRange> damaged = new ConcurrentSkipListMap<>();
    private volatile FileChannel channel;
    private boolean closed;

    /**
     * @param everyRead what {@link #everyRead()} gives
     */
    BlockChecksums(Disk disk, Path file, FileChannel channel, long blocks, boolean everyRead) {
        this.disk = disk;
        this.file = file;
        this.channel = channel;
        this.everyRead = everyRead;
        this.right = new AtomicLongArray((int) (blocks / BLOCKS_PER_WORD + 1));
    }

    /** Whether a block that was found right is to be checked again when it is read again. */
    boolean everyRead() {
        return everyRead;
    }

    /** Whether a block was found right when it was last checked in its file. */
    boolean foundRight(long block) {
        return (right.getPlain((int) (block / BLOCKS_PER_WORD)) & bit(block)) != 0;
    }

    private static long bit(long block) {
        return 1L << block % BLOCKS_PER_WORD;
    }

    /**
     * Checks a part of the file against a checksum.
     *
     * @param part     what it is called
     * @param number   number of the block, or a negative one for another part
     * @param expected the checksum
     * @param damage   gives the keys that cannot be read if it is damaged; nearly always nobody asks
     */
    void check(String part, long number, long from, long to, int expected, Supplier<DamagedRange> damage) {
        int got;
        try {
            got = checksum(from, to);
        } catch (IOException e) {
            DamagedRange range = damage.get();
            recordDamage(number, range, e.toString());
            throw new StorageException("The keys " + range + " cannot be read: the " + part + " at offset " + from
                    + " of the file " + file + " gives " + e + ". Other keys can be read. Check the disk; it is tried "
                    + "again with each read.", e);
        }
        if (got != expected) {
            DamagedRange range = damage.get();
            CorruptionException wrong = CorruptionException.checksum(file, from, part, expected, got, range);
            recordDamage(number, range, wrong.getMessage());
            throw wrong;
        }
        DamagedRange repaired = damaged.isEmpty() ? null : damaged.remove(number);
        if (repaired != null) {
            LOG.info("The keys {} of {} can be read again", repaired, file);
        }
        if (number >= 0 && !foundRight(number)) {
            right.getAndUpdate((int) (number / BLOCKS_PER_WORD), old -> old | bit(number));
        }
    }

    /**
     * Whether a part of a mapped file has its checksum. It is copied first: if a page has left the kernel's memory and the
     * disk cannot read it again, that is an {@link InternalError} of the copy, where inside the checksum's machine code it
     * would end the process.
     */
    boolean isRight(MemorySegment data, long from, long to, int expected) {
        CRC32C crc = new CRC32C();
        ByteBuffer piece = PIECE.get();
        for (long at = from; at < to; at += PIECE_BYTES) {
            disk.read(data, piece.clear().limit((int) Math.min(PIECE_BYTES, to - at)), at);
            crc.update(piece.flip());
        }
        return (int) crc.getValue() == expected;
    }

    private void recordDamage(long number, DamagedRange range, String what) {
        if (number >= 0) {
            right.getAndUpdate((int) (number / BLOCKS_PER_WORD), old -> old & ~bit(number));
        }
        if (damaged.putIfAbsent(number, range) == null) {
            LOG.error("The keys {} cannot be read; their table is left out of merges. {}", range, what);
        }
    }

    /** What was found damaged, and not found right since. */
    Collection<DamagedRange> damaged() {
        return damaged.values();
    }

    /** Bytes on the heap. */
    long heapBytes() {
        return (long) right.length() * Long.BYTES;
    }

    private int checksum(long from, long to) throws IOException {
        CRC32C crc = new CRC32C();
        ByteBuffer piece = PIECE.get();
        for (long at = from; at < to; at += PIECE_BYTES) {
            read(piece.clear().limit((int) Math.min(PIECE_BYTES, to - at)), at);
            crc.update(piece.flip());
        }
        return (int) crc.getValue();
    }

    /** Reads also on a thread that is interrupted, which closes the channel under all who read. */
    private void read(ByteBuffer piece, long at) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                FileChannel used = channel;
                try {
                    disk.read(used, piece, at);
                    return;
                } catch (ClosedChannelException e) {
                    interrupted |= Thread.interrupted();
                    piece.rewind();
                    reopen(used);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized void reopen(FileChannel closedOne) throws IOException {
        if (closed) {
            throw new ClosedChannelException();
        }
        if (channel == closedOne) {
            channel = disk.openToRead(file);
        }
    }

    /** Closes the file. */
    synchronized void close() {
        closed = true;
        try {
            channel.close();
        } catch (IOException e) {
            // Nothing was written to it.
        }
    }
}
