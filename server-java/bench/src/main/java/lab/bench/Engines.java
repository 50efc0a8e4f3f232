package lab.bench;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import lab.storage.Storage;
import lab.storage.leveldb.LevelDbSettings;
import lab.storage.leveldb.LevelDbStorage;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.rocksdb.RocksDbSettings;
import lab.storage.rocksdb.RocksDbStorage;

/**
 * Opens the engines that are compared. A name is an engine and its variations, such as {@code lsm+sync} or {@code
 * rocksdb-tuned+universal}. Without {@code sync} each has the same durability: a log that the kernel has, not the disk.
 */
public final class Engines {

    private static final String CACHE = "cache=";

    private Engines() {
    }

    /**
     * Opens an engine.
     *
     * @param name {@code lsm} with {@code +leveled}, {@code +sync}, {@code +verify} (each read of a block); {@code rocksdb} (the defaults of its Java binding)
     *             or {@code rocksdb-tuned} (Bloom filter of 10 bits, 64 MiB block cache, the same memtable, nothing
     *             compressed) with {@code +universal}, {@code +mmap}, {@code +cache=BYTES}, {@code +paced}, {@code
     *             +sync}; {@code leveldb} as report 3 had it
     */
    public static Storage open(String name, Path folder) {
        List<String> parts = Arrays.asList(name.split("\\+", -1));
        List<String> variations = parts.subList(1, parts.size());
        return switch (parts.getFirst()) {
            case "lsm" -> new LsmStorage(folder, lsm(variations));
            case "rocksdb" -> new RocksDbStorage(folder, rocksDb(RocksDbSettings.DEFAULTS, variations));
            case "rocksdb-tuned" -> new RocksDbStorage(folder,
                    rocksDb(RocksDbSettings.tuned(LsmOptions.DEFAULT_FLUSH_THRESHOLD_BYTES), variations));
            case "leveldb" -> {
                variations.forEach(Engines::refuse);
                yield new LevelDbStorage(folder, LevelDbSettings.PUBLISHED);
            }
            default -> throw new IllegalArgumentException("There is no engine '" + parts.getFirst()
                    + "'; choose lsm, leveldb, rocksdb or rocksdb-tuned.");
        };
    }

    private static LsmOptions lsm(List<String> variations) {
        LsmOptions.Builder options = LsmOptions.builder();
        for (String variation : variations) {
            switch (variation) {
                case "leveled" -> options.compaction(LsmOptions.Compaction.LEVELED);
                case "sync" -> options.wal(LsmOptions.Wal.SYNC);
                case "verify" -> options.verifyChecksums(LsmOptions.VerifyChecksums.ALWAYS);
                default -> refuse(variation);
            }
        }
        return options.build();
    }

    private static RocksDbSettings rocksDb(RocksDbSettings from, List<String> variations) {
        RocksDbSettings settings = from;
        for (String variation : variations) {
            switch (variation) {
                case "universal" -> settings = settings.withUniversalCompaction();
                case "mmap" -> settings = settings.withMmapReads();
                case "paced" -> settings = settings.withPacing();
                case "sync" -> settings = settings.withSync();
                default -> {
                    if (!variation.startsWith(CACHE)) {
                        refuse(variation);
                    }
                    settings = settings.withCacheBytes(Long.parseLong(variation.substring(CACHE.length())));
                }
            }
        }
        return settings;
    }

    private static void refuse(String variation) {
        throw new IllegalArgumentException("This engine has no variation '" + variation + "'; see Engines.open.");
    }
}
