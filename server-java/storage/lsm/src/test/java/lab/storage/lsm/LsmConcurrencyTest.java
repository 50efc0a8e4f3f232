package lab.storage.lsm;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.ConcurrencyConformance;

class LsmConcurrencyTest extends ConcurrencyConformance {

    @Override
    protected Storage open(Path folder) {
        return new LsmStorage(folder, new LsmOptions(64 * 1024, LsmOptions.Compaction.SIZE_TIERED));
    }
}
