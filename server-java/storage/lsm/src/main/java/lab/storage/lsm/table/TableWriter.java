package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.INT;
import static lab.storage.lsm.disk.Encoding.LONG;

import io.airlift.compress.v3.Compressor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;
import java.util.zip.CRC32C;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.disk.Encoding;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.memory.NativeBuffer;

/**
 * Writes one table file: blocks, filter, index, footer. Entries come in key order. Makes no garbage; what grows with the
 * table, the filter's hashes and the index, lies outside the heap and is bounded by the size at which tables are ended.
 *
 * <p>The file is complete and on disk when {@link #finish()} returns. A writer that is closed before removes its file.
 * For one thread.
 */
public final class TableWriter implements AutoCloseable {

    private static final int SMALL_BYTES = 4096;
    /** A block is packed only if that saves at least one part in so many. */
    private static final int WORTHWHILE = 8;

    private final int bloomBitsPerKey;
    private final Compression compression;
    private final Compressor compressor;
    private final LiveEstimate estimate;
    private final TableOutput file;
    /** What {@link #file} has not given away. */
    private final NativeBuffer out;
    private final NativeBuffer packed;
    private final NativeBuffer keys;
    private final NativeBuffer restarts;
    private final NativeBuffer hashes;
    private final NativeBuffer blockOffsets;
    private final NativeBuffer separatorEnds;
    private final NativeBuffer separators;
    private final CRC32C crc = new CRC32C();

    private byte[] firstKey;
    private byte[] lastKey = new byte[256];
    private int lastKeyLength;
    private long blockStart;
    private int blockEntries;
    private long entries;
    private long tombstones;

    /**
     * @param bloomBitsPerKey 0 for no filter
     * @param estimate        given each key, to know how many of them older tables have too
     * @param account         where the memory of its buffers is counted
     */
    public TableWriter(Disk disk, Path file, int bloomBitsPerKey, Compression compression, LiveEstimate estimate,
            LongAdder account) throws IOException {
        this.packed = new NativeBuffer(SMALL_BYTES, account);
        this.keys = new NativeBuffer(SMALL_BYTES, account);
        this.restarts = new NativeBuffer(SMALL_BYTES, account);
        this.hashes = new NativeBuffer(SMALL_BYTES, account);
        this.blockOffsets = new NativeBuffer(SMALL_BYTES, account);
        this.separatorEnds = new NativeBuffer(SMALL_BYTES, account);
        this.separators = new NativeBuffer(SMALL_BYTES, account);
        this.bloomBitsPerKey = bloomBitsPerKey;
        this.compression = compression;
        this.compressor = compression == Compression.NONE ? null : compression.newCompressor();
        this.estimate = estimate;
        try {
            this.file = new TableOutput(disk, file, account);
        } catch (Throwable e) {
            closeBuffers();
            throw e;
        }
        this.out = this.file.bytes();
    }

    /** Appends the entry that a cursor is on; its key is greater than the one before. */
    public void add(EntryCursor entry) throws IOException {
        byte[] key = entry.key();
        int keyLength = entry.keyLength();
        int valueLength = entry.valueLength();
        if (blockEntries == 0) {
            startBlock(key, keyLength);
        }
        int shared = 0;
        if (blockEntries % TableFormat.RESTART_INTERVAL == 0) {
            restarts.addInt((int) keys.size());
            restarts.addInt((int) (out.size() - blockStart));
        } else {
            shared = Arrays.mismatch(lastKey, 0, lastKeyLength, key, 0, keyLength);
        }
        keys.addVarint(shared);
        keys.addVarint(keyLength - shared);
        keys.addVarint(valueLength + 1);
        keys.add(key, shared, keyLength - shared);
        if (valueLength > 0) {
            out.add(entry.valueSegment(), entry.valueOffset(), valueLength);
        } else if (valueLength == EntryCursor.TOMBSTONE) {
            tombstones++;
        }
        if (lastKey.length < keyLength) {
            lastKey = new byte[keyLength * 2];
        }
        System.arraycopy(key, 0, lastKey, 0, keyLength);
        lastKeyLength = keyLength;
        long hash = Keys.hash(key, keyLength);
        if (bloomBitsPerKey > 0) {
            hashes.addLong(hash);
        }
        estimate.add(key, keyLength, hash);
        blockEntries++;
        entries++;
        if (out.size() - blockStart + keys.size() >= TableFormat.BLOCK_BYTES) {
            endBlock();
        }
    }

    /**
     * The index needs no whole key: the shortest prefix that is greater than the last key before tells the two blocks
     * apart just as well. The first block needs nothing.
     */
    private void startBlock(byte[] key, int keyLength) {
        blockOffsets.addLong(position());
        blockStart = out.size();
        if (entries == 0) {
            firstKey = Arrays.copyOf(key, keyLength);
        } else {
            int shared = Arrays.mismatch(lastKey, 0, lastKeyLength, key, 0, keyLength);
            separators.add(key, 0, Math.min(shared + 1, keyLength));
        }
        separatorEnds.addInt((int) separators.size());
    }

    private void endBlock() throws IOException {
        int keysAt = (int) (out.size() - blockStart);
        out.add(keys.segment(), 0, keys.size());
        out.add(restarts.segment(), 0, restarts.size());
        out.addInt(keysAt);
        out.addInt((int) (restarts.size() / TableFormat.RESTART_BYTES));
        Compression used = compression == Compression.NONE ? Compression.NONE : pack();
        out.addByte(used.code());
        out.addInt(checksumFrom(blockStart));
        keys.clear();
        restarts.clear();
        blockEntries = 0;
        file.drain();
    }

    private Compression pack() {
        int length = (int) (out.size() - blockStart);
        packed.clear();
        packed.reserve(compressor.maxCompressedLength(length));
        int bytes = compressor.compress(out.segment().asSlice(blockStart, length), packed.segment());
        if (bytes > length - length / WORTHWHILE) {
            return Compression.NONE;
        }
        out.truncate(blockStart);
        out.addInt(length);
        out.add(packed.segment(), 0, bytes);
        return compression;
    }

    /**
     * Writes filter, index and footer, and returns when all of it is on disk.
     *
     * @return size of the file in bytes
     */
    public long finish() throws IOException {
        if (blockEntries > 0) {
            endBlock();
        }
        long blocks = blockOffsets.size() / Long.BYTES;
        long blocksEnd = position();
        blockOffsets.addLong(blocksEnd);
        if (bloomBitsPerKey > 0) {
            // A line of the filter is to be a line of the processor's cache.
            file.align(BloomFilter.LINE_BYTES);
        }
        long filterOffset = position();
        int probes = BloomFilter.probes(bloomBitsPerKey);
        int filterChecksum = writeFilter(probes);
        long indexOffset = position();
        int indexChecksum = writeIndex(blocks);
        long indexLength = position() - indexOffset;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment footer = arena.allocate(TableFormat.FOOTER_BYTES);
            footer.set(LONG, TableFormat.FOOTER_INDEX_OFFSET, indexOffset);
            footer.set(LONG, TableFormat.FOOTER_INDEX_LENGTH, indexLength);
            footer.set(LONG, TableFormat.FOOTER_FILTER_OFFSET, filterOffset);
            footer.set(LONG, TableFormat.FOOTER_FILTER_LENGTH, indexOffset - filterOffset);
            footer.set(LONG, TableFormat.FOOTER_ENTRIES, entries);
            footer.set(LONG, TableFormat.FOOTER_TOMBSTONES, tombstones);
            footer.set(LONG, TableFormat.FOOTER_OLD_ENTRIES, estimate.old());
            footer.set(LONG, TableFormat.FOOTER_BLOCKS, blocks);
            footer.set(INT, TableFormat.FOOTER_INDEX_CHECKSUM, indexChecksum);
            footer.set(INT, TableFormat.FOOTER_FILTER_CHECKSUM, filterChecksum);
            footer.set(INT, TableFormat.FOOTER_FILTER_PROBES, probes);
            footer.set(INT, TableFormat.FOOTER_VERSION, TableFormat.VERSION);
            footer.set(INT, TableFormat.FOOTER_CHECKSUM, Encoding.checksum(footer, 0, TableFormat.FOOTER_CHECKSUM));
            footer.set(LONG, TableFormat.FOOTER_MAGIC, TableFormat.MAGIC);
            out.add(footer, 0, footer.byteSize());
        }
        file.finish();
        return file.position();
    }

    private int writeFilter(int probes) {
        long start = out.size();
        if (bloomBitsPerKey > 0) {
            long bytes = BloomFilter.bytes(entries, bloomBitsPerKey);
            out.addZeros(bytes);
            for (long at = 0; at < hashes.size(); at += Long.BYTES) {
                BloomFilter.add(out.segment(), start, bytes, probes, hashes.segment().get(LONG, at));
            }
        }
        return checksumFrom(start);
    }

    private int writeIndex(long blocks) {
        long at = out.size();
        int shared = sharedByAll();
        out.addInt(firstKey == null ? 0 : firstKey.length);
        out.addInt(lastKeyLength);
        out.addInt(shared);
        byte[] prefix = new byte[Long.BYTES];
        int start = 0;
        for (long block = 0; block < blocks; block++) {
            int end = separatorEnds.segment().get(INT, block * Integer.BYTES);
            int bytes = Math.clamp(end - start - shared, 0, Long.BYTES);
            for (int i = 0; i < bytes; i++) {
                prefix[i] = separators.segment().get(Encoding.BYTE, start + shared + i);
            }
            out.addLong(Keys.prefix(prefix, 0, bytes));
            start = end;
        }
        out.add(blockOffsets.segment(), 0, blockOffsets.size());
        out.add(separatorEnds.segment(), 0, separatorEnds.size());
        out.add(separators.segment(), 0, separators.size());
        if (firstKey != null) {
            out.add(firstKey, 0, firstKey.length);
            out.add(lastKey, 0, lastKeyLength);
        }
        return checksumFrom(at);
    }

    /** Keys are sorted, so what the first and the last one share all share. */
    private int sharedByAll() {
        if (firstKey == null) {
            return 0;
        }
        int at = Arrays.mismatch(firstKey, 0, firstKey.length, lastKey, 0, lastKeyLength);
        return at < 0 ? firstKey.length : at;
    }

    private int checksumFrom(long start) {
        crc.reset();
        crc.update(out.view(start, out.size()));
        return (int) crc.getValue();
    }

    /** Entries written so far, deletes included. */
    long entries() {
        return entries;
    }

    /** Bytes of the file so far, without filter and index. */
    public long position() {
        return file.position();
    }

    /** Bytes that the buffers take which grow with the table; twice as many when they grow next. */
    public long growingBytes() {
        return hashes.size() + blockOffsets.size() + separatorEnds.size() + separators.size();
    }

    private void closeBuffers() {
        for (NativeBuffer buffer : new NativeBuffer[] {packed, keys, restarts, hashes, blockOffsets, separatorEnds,
            separators}) {
            buffer.close();
        }
    }

    @Override
    public void close() throws IOException {
        closeBuffers();
        file.close();
    }
}
