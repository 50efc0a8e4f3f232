package lab.storage.lsm;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.ConcurrencyConformance;
import org.junit.jupiter.api.Nested;

/** Many threads on one store whose memtables are so small that flushes and merges happen all the time. */
class LsmConcurrencyTest {

    private static final LsmOptions OPTIONS = new LsmOptions(64 * 1024, LsmOptions.Compaction.SIZE_TIERED)
            .withLimits(100, 1_000);

    @Nested
    class Defaults extends ConcurrencyConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, OPTIONS);
        }
    }

    @Nested
    class WithoutALog extends ConcurrencyConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, OPTIONS.withWal(LsmOptions.Wal.OFF));
        }
    }

    @Nested
    class LeveledPackedAndCached extends ConcurrencyConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, new LsmOptions(64 * 1024, LsmOptions.Compaction.LEVELED)
                    .withLimits(100, 1_000).withCompression(Compression.LZ4).withCacheBytes(256 * 1024)
                    .withMaxTableBytes(40_000));
        }
    }
}
