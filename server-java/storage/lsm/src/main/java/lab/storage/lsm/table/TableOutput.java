package lab.storage.lsm.table;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.memory.NativeBuffer;

/**
 * The file of a table while it is written. Bytes are gathered and given to the kernel in pieces of 2 MiB, each at a
 * multiple of that: Linux (6.16 and later on ext4, earlier on XFS) then keeps a piece as one huge page, and maps it as
 * one. A random read of a large store finds its pages in the processor's table of them, instead of walking the kernel's
 * for every one of the places that it looks at, and the first touch of 2 MiB costs one page fault instead of many. A kernel
 * that cannot do so takes the pieces as ordinary pages.
 *
 * <p>For one thread.
 */
final class TableOutput implements AutoCloseable {

    /** Size of a huge page. */
    static final int PIECE_BYTES = 2 << 20;
    private static final int ROOM_FOR_A_BLOCK = 64 * 1024;

    private final Disk disk;
    private final Path file;
    private final FileChannel channel;
    private final NativeBuffer bytes;
    private long givenBytes;
    private boolean finished;

    /** Makes the file; its memory is counted in the account. */
    TableOutput(Disk disk, Path file, LongAdder account) throws IOException {
        this.disk = disk;
        this.file = file;
        // In this order: a disk that lets no file be made is asked again every second, and must not cost memory.
        this.channel = disk.create(file);
        this.bytes = new NativeBuffer(PIECE_BYTES + ROOM_FOR_A_BLOCK, account);
    }

    /** What the kernel does not have yet; bytes are added here. */
    NativeBuffer bytes() {
        return bytes;
    }

    /** Bytes of the file so far. */
    long position() {
        return givenBytes + bytes.size();
    }

    /** Adds zeros up to a multiple of this, a power of two. */
    void align(int multiple) {
        bytes.addZeros(-position() & multiple - 1);
    }

    /** Gives the kernel the pieces that are whole; what is left of {@link #bytes()} begins at 0 afterwards. */
    void drain() throws IOException {
        long whole = bytes.size() & -PIECE_BYTES;
        for (long at = 0; at < whole; at += PIECE_BYTES) {
            give(bytes.view(at, at + PIECE_BYTES));
        }
        bytes.removeFirst(whole);
    }

    /** Gives the kernel the rest and returns when all of it is on disk. The file stays. */
    void finish() throws IOException {
        drain();
        give(bytes.view(0, bytes.size()));
        bytes.clear();
        disk.force(channel);
        channel.close();
        finished = true;
    }

    private void give(ByteBuffer part) throws IOException {
        int length = part.remaining();
        disk.write(channel, part, givenBytes);
        givenBytes += length;
    }

    /** Removes the file unless it was finished. */
    @Override
    public void close() throws IOException {
        bytes.close();
        if (!finished) {
            channel.close();
            disk.delete(file);
        }
    }
}
