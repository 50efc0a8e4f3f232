package lab.server;

import java.nio.file.Path;
import java.util.Locale;
import lab.storage.Storage;
import lab.storage.files.FileLayout;
import lab.storage.files.FilesStorage;
import lab.storage.leveldb.LevelDbSettings;
import lab.storage.leveldb.LevelDbStorage;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.memory.MemoryStorage;
import lab.storage.memory.NoopStorage;
import lab.storage.rocksdb.RocksDbSettings;
import lab.storage.rocksdb.RocksDbStorage;

/** The storage engines that {@code --engine} knows. */
enum Engine {
    /** Ours, log-structured. */
    LSM(true),
    /** RocksDB with its defaults. */
    ROCKSDB(true),
    /** LevelDB in Java, as report 3 had it. */
    LEVELDB(true),
    /** One file a key, as report 2 had it. */
    FILES(true),
    /** A sorted map on the heap. */
    MEMORY(false),
    /** Nothing. */
    NOOP(false);

    private final boolean needsFolder;

    Engine(boolean needsFolder) {
        this.needsFolder = needsFolder;
    }

    boolean needsFolder() {
        return needsFolder;
    }

    Storage open(StoreFlags flags) {
        Path folder = flags.data();
        return switch (this) {
            case LSM -> new LsmStorage(folder, flags.lsm());
            case ROCKSDB -> new RocksDbStorage(folder, flags.isTuned()
                    ? RocksDbSettings.tuned(LsmOptions.DEFAULT_FLUSH_THRESHOLD_BYTES) : RocksDbSettings.DEFAULTS);
            case LEVELDB -> new LevelDbStorage(folder, flags.isTuned() ? LevelDbSettings.TUNED : LevelDbSettings.PUBLISHED);
            case FILES -> new FilesStorage(folder, flags.isTuned() ? FileLayout.FANNED : FileLayout.FLAT);
            case MEMORY -> new MemoryStorage(flags.heapBytes() / 4 * 3);
            case NOOP -> new NoopStorage(flags.noopValueBytes(), flags.handlerDelayUs());
        };
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
