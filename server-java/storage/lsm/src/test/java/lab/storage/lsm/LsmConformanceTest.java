package lab.storage.lsm;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.DurableConformance;

class LsmConformanceTest extends DurableConformance {

    @Override
    protected Storage open(Path folder) {
        return new LsmStorage(folder, new LsmOptions(1 << 20, LsmOptions.Compaction.SIZE_TIERED));
    }
}
