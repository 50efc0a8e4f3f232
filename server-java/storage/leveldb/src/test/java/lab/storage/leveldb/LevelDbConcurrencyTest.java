package lab.storage.leveldb;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.ConcurrencyConformance;

class LevelDbConcurrencyTest extends ConcurrencyConformance {

    @Override
    protected Storage open(Path folder) {
        return new LevelDbStorage(folder, LevelDbSettings.PUBLISHED);
    }
}
