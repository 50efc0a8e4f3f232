package lab.storage.lsm;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.DurableConformance;
import org.junit.jupiter.api.Nested;

class LsmConformanceTest {

    @Nested
    class Defaults extends DurableConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, new LsmOptions(1 << 20, LsmOptions.Compaction.SIZE_TIERED));
        }
    }

    @Nested
    class WithoutALogOrFilter extends DurableConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, new LsmOptions(1 << 20, LsmOptions.Compaction.OFF)
                    .withWal(LsmOptions.Wal.OFF).withBloomBitsPerKey(0));
        }
    }

    @Nested
    class LeveledPackedAndCached extends DurableConformance {
        @Override
        protected Storage open(Path folder) {
            return new LsmStorage(folder, new LsmOptions(1 << 20, LsmOptions.Compaction.LEVELED)
                    .withCompression(Compression.ZSTD).withCacheBytes(1 << 20));
        }
    }
}
