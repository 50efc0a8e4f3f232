package lab.storage.rocksdb;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.DurableConformance;

class RocksDbConformanceTest extends DurableConformance {

    @Override
    protected Storage open(Path folder) {
        return new RocksDbStorage(folder);
    }
}
