package lab.storage.rocksdb;

/**
 * Settings of a {@link RocksDbStorage}. Checksums of blocks are verified on every read of a file, and so they are by
 * RocksDB's own default.
 *
 * @param memtableBytes   size of a memtable; 0 for RocksDB's default
 * @param bloomBitsPerKey size of the filters; 0 for none
 * @param cacheBytes      size of the block cache; 0 for RocksDB's default
 * @param compressed      whether blocks are compressed as RocksDB does by default
 * @param universal       whether tables are merged by universal compaction instead of into levels
 * @param mmapReads       whether tables are read through mappings
 * @param paced           whether flush and compaction pass a rate limiter and files are written back bit by bit
 * @param sync            whether each write is forced to the disk before it returns
 */
public record RocksDbSettings(long memtableBytes, int bloomBitsPerKey, long cacheBytes, boolean compressed,
        boolean universal, boolean mmapReads, boolean paced, boolean sync) {

    /** The defaults of the Java binding. */
    public static final RocksDbSettings DEFAULTS =
            new RocksDbSettings(0, 0, 0, true, false, false, false, false);

    private static final int TUNED_BLOOM_BITS = 10;
    private static final long TUNED_CACHE_BYTES = 64L << 20;

    /**
     * Gives the settings for reads from memory: Bloom filters of 10 bits a key, a block cache of 64 MiB, nothing
     * compressed.
     *
     * @param memtableBytes size of a memtable
     */
    public static RocksDbSettings tuned(long memtableBytes) {
        return new RocksDbSettings(memtableBytes, TUNED_BLOOM_BITS, TUNED_CACHE_BYTES, false, false, false, false,
                false);
    }

    /** Gives the same settings with another block cache. */
    public RocksDbSettings withCacheBytes(long bytes) {
        return new RocksDbSettings(memtableBytes, bloomBitsPerKey, bytes, compressed, universal, mmapReads, paced, sync);
    }

    /** Gives the same settings with universal compaction. */
    public RocksDbSettings withUniversalCompaction() {
        return new RocksDbSettings(memtableBytes, bloomBitsPerKey, cacheBytes, compressed, true, mmapReads, paced, sync);
    }

    /** Gives the same settings with tables read through mappings. */
    public RocksDbSettings withMmapReads() {
        return new RocksDbSettings(memtableBytes, bloomBitsPerKey, cacheBytes, compressed, universal, true, paced, sync);
    }

    /** Gives the same settings with a rate limiter and {@code bytes_per_sync}. */
    public RocksDbSettings withPacing() {
        return new RocksDbSettings(memtableBytes, bloomBitsPerKey, cacheBytes, compressed, universal, mmapReads, true,
                sync);
    }

    /** Gives the same settings with each write forced to the disk. */
    public RocksDbSettings withSync() {
        return new RocksDbSettings(memtableBytes, bloomBitsPerKey, cacheBytes, compressed, universal, mmapReads, paced,
                true);
    }
}
