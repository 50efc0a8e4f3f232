package lab.bench;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.leveldb.LevelDbSettings;
import lab.storage.leveldb.LevelDbStorage;
import lab.storage.lsm.LsmOptions;
import lab.storage.lsm.LsmStorage;
import lab.storage.rocksdb.RocksDbStorage;

/** The engines that are compared, each with the same durability: a log that the kernel has, not the disk. */
public final class Engines {

    private Engines() {
    }

    /**
     * Opens an engine.
     *
     * @param name {@code lsm}, {@code rocksdb} (defaults of its Java binding) or {@code rocksdb-tuned} (bloom filter of
     *             10 bits, 64 MiB block cache, the same memtable, nothing packed); {@code leveldb} as report 3 had it; {@code lsm-leveled}
     */
    public static Storage open(String name, Path folder) {
        return switch (name) {
            case "lsm" -> new LsmStorage(folder, LsmOptions.defaults());
            case "lsm-leveled" -> new LsmStorage(folder, new LsmOptions(LsmOptions.DEFAULT_FLUSH_THRESHOLD_BYTES,
                    LsmOptions.Compaction.LEVELED));
            case "leveldb" -> new LevelDbStorage(folder, LevelDbSettings.PUBLISHED);
            case "rocksdb" -> new RocksDbStorage(folder);
            case "rocksdb-tuned" -> RocksDbStorage.tuned(folder, LsmOptions.DEFAULT_FLUSH_THRESHOLD_BYTES);
            default -> throw new IllegalArgumentException("There is no engine '" + name
                    + "'; choose lsm, lsm-leveled, leveldb, rocksdb or rocksdb-tuned.");
        };
    }
}
