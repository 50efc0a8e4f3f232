package lab.storage.memory;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.ConcurrencyConformance;

class MemoryConcurrencyTest extends ConcurrencyConformance {

    @Override
    protected Storage open(Path folder) {
        return new MemoryStorage();
    }
}
