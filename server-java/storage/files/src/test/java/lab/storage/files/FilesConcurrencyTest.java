package lab.storage.files;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.ConcurrencyConformance;

class FilesConcurrencyTest extends ConcurrencyConformance {

    @Override
    protected Storage open(Path folder) {
        return new FilesStorage(folder, FileLayout.FLAT);
    }

    @Override
    protected int writesEach() {
        return 400;
    }
}
