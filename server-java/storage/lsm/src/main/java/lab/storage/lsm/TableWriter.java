package lab.storage.lsm;

import static lab.storage.lsm.TableFormat.INT;
import static lab.storage.lsm.TableFormat.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/**
 * Writes one table file: blocks, index, footer. Entries come in key order. Uses a fixed amount of heap whatever the size
 * of the table; the index grows outside the heap.
 *
 * <p>The file is complete and on disk when {@link #finish()} returns. A writer that is closed before removes its file.
 */
final class TableWriter implements AutoCloseable {

    private static final int BUFFER_BYTES = 256 * 1024;

    private final Path file;
    private final FileChannel channel;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment buffer = arena.allocate(BUFFER_BYTES);
    private final ByteBuffer bufferView = buffer.asByteBuffer();
    private final NativeBuffer entryOffsets = new NativeBuffer(1024);
    private final NativeBuffer blockOffsets = new NativeBuffer(4096);
    private final NativeBuffer separatorEnds = new NativeBuffer(4096);
    private final NativeBuffer separators = new NativeBuffer(4096);
    private final NativeBuffer lastKey = new NativeBuffer(256);
    private final CRC32C blockChecksum = new CRC32C();

    private int buffered;
    /** Up to here the buffer is part of the checksum of the current block. */
    private int checksummed;
    private long flushedBytes;
    private long blockStart;
    private int blockEntries;
    private long entries;
    private long tombstones;
    private boolean finished;

    TableWriter(Path file) throws IOException {
        this.file = file;
        this.channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE);
    }

    /** Appends every entry of the cursor. */
    void addAll(EntryCursor cursor) throws IOException {
        while (cursor.next()) {
            add(cursor.key(), cursor.value());
        }
    }

    /**
     * Appends one entry.
     *
     * @param key   greater than the one before
     * @param value null for a delete
     */
    void add(MemorySegment key, MemorySegment value) throws IOException {
        if (blockEntries == 0) {
            addSeparator(key);
        }
        entryOffsets.addInt((int) (position() - blockStart));
        writeInt((int) key.byteSize());
        writeInt(value == null ? TableFormat.TOMBSTONE : (int) value.byteSize());
        write(key);
        if (value == null) {
            tombstones++;
        } else {
            write(value);
        }
        lastKey.clear();
        lastKey.add(key, 0, key.byteSize());
        blockEntries++;
        entries++;
        if (position() - blockStart >= TableFormat.BLOCK_BYTES) {
            endBlock();
        }
    }

    /**
     * The index needs no whole key: the shortest prefix that is greater than the last key before tells the two blocks
     * apart just as well.
     */
    private void addSeparator(MemorySegment key) {
        blockOffsets.addLong(position());
        MemorySegment before = lastKey.written();
        long shared = entries == 0 ? 0 : MemorySegment.mismatch(before, 0, before.byteSize(), key, 0, key.byteSize());
        separators.add(key, 0, Math.min(shared + 1, key.byteSize()));
        separatorEnds.addLong(separators.size());
    }

    private void endBlock() throws IOException {
        write(entryOffsets.written());
        writeInt(blockEntries);
        updateChecksum();
        writeInt((int) blockChecksum.getValue());
        checksummed = buffered;
        blockChecksum.reset();
        entryOffsets.clear();
        blockEntries = 0;
        blockStart = position();
    }

    /**
     * Writes index and footer, and returns when all of it is on disk.
     *
     * @return size of the file in bytes
     */
    long finish() throws IOException {
        if (blockEntries > 0) {
            endBlock();
        }
        long indexOffset = position();
        long blocks = separatorEnds.size() / Long.BYTES;
        blockOffsets.addLong(indexOffset);
        blockChecksum.reset();
        checksummed = buffered;
        write(blockOffsets.written());
        write(separatorEnds.written());
        write(separators.written());
        updateChecksum();
        MemorySegment footer = arena.allocate(TableFormat.FOOTER_BYTES);
        footer.set(LONG, TableFormat.FOOTER_INDEX_OFFSET, indexOffset);
        footer.set(LONG, TableFormat.FOOTER_INDEX_LENGTH, position() - indexOffset);
        footer.set(LONG, TableFormat.FOOTER_ENTRIES, entries);
        footer.set(LONG, TableFormat.FOOTER_TOMBSTONES, tombstones);
        footer.set(LONG, TableFormat.FOOTER_BLOCKS, blocks);
        footer.set(INT, TableFormat.FOOTER_INDEX_CHECKSUM, (int) blockChecksum.getValue());
        footer.set(INT, TableFormat.FOOTER_FORMAT_VERSION, TableFormat.VERSION);
        footer.set(INT, TableFormat.FOOTER_RESERVED, 0);
        footer.set(INT, TableFormat.FOOTER_CHECKSUM,
                TableFormat.checksum(footer, 0, TableFormat.FOOTER_CHECKSUM));
        footer.set(LONG, TableFormat.FOOTER_MAGIC, TableFormat.MAGIC);
        write(footer);
        drain();
        channel.force(true);
        channel.close();
        finished = true;
        return flushedBytes;
    }

    /** Entries written so far, deletes included. */
    long entries() {
        return entries;
    }

    private long position() {
        return flushedBytes + buffered;
    }

    private void writeInt(int value) throws IOException {
        if (BUFFER_BYTES - buffered < Integer.BYTES) {
            drain();
        }
        buffer.set(INT, buffered, value);
        buffered += Integer.BYTES;
    }

    private void write(MemorySegment source) throws IOException {
        long from = 0;
        while (from < source.byteSize()) {
            if (buffered == BUFFER_BYTES) {
                drain();
            }
            long bytes = Math.min(source.byteSize() - from, BUFFER_BYTES - buffered);
            MemorySegment.copy(source, from, buffer, buffered, bytes);
            buffered += (int) bytes;
            from += bytes;
        }
    }

    private void updateChecksum() {
        blockChecksum.update(bufferView.limit(buffered).position(checksummed));
        bufferView.clear();
        checksummed = buffered;
    }

    private void drain() throws IOException {
        updateChecksum();
        bufferView.limit(buffered).position(0);
        while (bufferView.hasRemaining()) {
            channel.write(bufferView);
        }
        bufferView.clear();
        flushedBytes += buffered;
        buffered = 0;
        checksummed = 0;
    }

    @Override
    public void close() throws IOException {
        arena.close();
        entryOffsets.close();
        blockOffsets.close();
        separatorEnds.close();
        separators.close();
        lastKey.close();
        if (!finished) {
            channel.close();
            Files.deleteIfExists(file);
        }
    }
}
