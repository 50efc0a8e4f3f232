package lab.storage.lsm;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.ConcurrencyConformance;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import org.junit.jupiter.api.Nested;

/** Many threads on one store whose memtables are so small that flushes and merges happen all the time. */
class LsmConcurrencyTest {

    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(64 * 1024)
            .compaction(LsmOptions.Compaction.SIZE_TIERED).maxKeyBytes(100).maxValueBytes(1_000).build();

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
            return new LsmStorage(folder, OPTIONS.toBuilder().wal(LsmOptions.Wal.OFF).build());
        }
    }

    @Nested
    class LeveledPackedAndCached extends ConcurrencyConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(64 * 1024)
                    .compaction(LsmOptions.Compaction.LEVELED).maxKeyBytes(100).maxValueBytes(1_000)
                    .compression(Compression.LZ4).cacheBytes(256 * 1024).maxTableBytes(40_000).build());
        }
    }
}
