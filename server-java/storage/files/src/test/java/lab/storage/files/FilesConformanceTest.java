package lab.storage.files;

import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.conformance.DurableConformance;

class FilesConformanceTest extends DurableConformance {

    @Override
    protected Storage open(Path folder) {
        return new FilesStorage(folder, FileLayout.FLAT);
    }
}
