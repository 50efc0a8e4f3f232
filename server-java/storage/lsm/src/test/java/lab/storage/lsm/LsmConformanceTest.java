package lab.storage.lsm;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.StorageConformance;

class LsmConformanceTest extends StorageConformance {

    @Override
    protected Storage open(Path folder) {
        return new LsmStorage(folder, new LsmOptions(1 << 20, LsmOptions.Compaction.SIZE_TIERED));
    }

    @Override
    protected boolean isDurable() {
        return true;
    }
}
