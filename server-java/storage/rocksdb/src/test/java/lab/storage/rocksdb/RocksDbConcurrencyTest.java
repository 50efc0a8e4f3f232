package lab.storage.rocksdb;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.ConcurrencyConformance;

class RocksDbConcurrencyTest extends ConcurrencyConformance {

    @Override
    protected Storage open(Path folder) {
        return new RocksDbStorage(folder);
    }
}
