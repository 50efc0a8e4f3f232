package lab.storage.memory;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.StorageConformance;

class MemoryConformanceTest extends StorageConformance {

    @Override
    protected Storage open(Path folder) {
        return new MemoryStorage();
    }
}
