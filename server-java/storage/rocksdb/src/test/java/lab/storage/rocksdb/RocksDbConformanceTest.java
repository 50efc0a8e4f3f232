package lab.storage.rocksdb;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.StorageConformance;

class RocksDbConformanceTest extends StorageConformance {

    @Override
    protected Storage open(Path folder) {
        return new RocksDbStorage(folder);
    }

    @Override
    protected boolean isDurable() {
        return true;
    }
}
