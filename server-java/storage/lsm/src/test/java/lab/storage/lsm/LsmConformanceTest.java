package lab.storage.lsm;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.DurableConformance;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import org.junit.jupiter.api.Nested;

class LsmConformanceTest {

    @Nested
    class Defaults extends DurableConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(1 << 20)
                    .compaction(LsmOptions.Compaction.SIZE_TIERED).build());
        }
    }

    @Nested
    class WithoutALogOrFilter extends DurableConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(1 << 20)
                    .compaction(LsmOptions.Compaction.OFF).wal(LsmOptions.Wal.OFF).bloomBitsPerKey(0).build());
        }
    }

    @Nested
    class LeveledPackedAndCached extends DurableConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(1 << 20)
                    .compaction(LsmOptions.Compaction.LEVELED).compression(Compression.ZSTD).cacheBytes(1 << 20)
                    .build());
        }
    }
}
