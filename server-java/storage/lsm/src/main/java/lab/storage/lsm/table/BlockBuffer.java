package lab.storage.lsm.table;

import io.airlift.compress.v3.Decompressor;
import io.airlift.compress.v3.MalformedInputException;
import java.lang.foreign.MemorySegment;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Encoding;

/**
 * One unpacked block, for one thread. Remembers which one it holds, so that neighbours are not unpacked again for each
 * key.
 */
final class BlockBuffer {

    private static final int KEPT_BYTES = 256 * 1024;

    private final Decompressor[] decompressors = new Decompressor[Compression.values().length];
    private byte[] bytes = new byte[0];
    private MemorySegment segment;
    private long table = -1;
    private long block;
    private int length;

    /**
     * Unpacks a block.
     *
     * @param packed the file
     * @param from   first byte of the packed block
     * @param to     byte after its last one, before the tail
     * @return the block, from the start of the segment, {@link #length()} bytes of it
     */
    MemorySegment unpack(Table owner, long number, Compression compression, MemorySegment packed, long from, long to) {
        if (table == owner.id() && block == number) {
            return segment;
        }
        table = -1;
        length = packed.get(Encoding.INT, from);
        if (length < 0 || length > TableFormat.MAX_BLOCK_BYTES) {
            throw new CorruptionException(owner.file(), from, "the block says that it has " + length + " bytes");
        }
        if (bytes.length < length || bytes.length > KEPT_BYTES && length <= KEPT_BYTES) {
            bytes = new byte[Math.max(length, TableFormat.BLOCK_BYTES * 2)];
            segment = MemorySegment.ofArray(bytes);
        }
        Decompressor decompressor = decompressors[compression.code()];
        if (decompressor == null) {
            decompressor = compression.newDecompressor();
            decompressors[compression.code()] = decompressor;
        }
        int got;
        try {
            got = decompressor.decompress(packed.asSlice(from + Integer.BYTES, to - from - Integer.BYTES), segment);
        } catch (MalformedInputException e) {
            throw new CorruptionException(owner.file(), from, "the block cannot be unpacked: " + e.getMessage());
        }
        if (got != length) {
            throw new CorruptionException(owner.file(), from, "the block unpacks to " + got + " bytes, not " + length);
        }
        table = owner.id();
        block = number;
        return segment;
    }

    /** Bytes that it takes. */
    int capacity() {
        return bytes.length;
    }

    int length() {
        return length;
    }
}
