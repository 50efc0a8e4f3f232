package lab.storage.lsm;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Removes logs whose records are in tables. */
final class DoneLogs {

    private final Disk disk;
    /** Files of logs whose records are in the first memtable. */
    private List<Path> recovered;

    /**
     * @param recovered logs of before, which go with the first flush
     */
    DoneLogs(Disk disk, List<Path> recovered) {
        this.disk = disk;
        this.recovered = recovered;
    }

    /**
     * A flush is done.
     *
     * @param finished log of the memtable that was flushed; null if it had none
     * @param survives whether the tables survive a loss of power; if not, the files stay for the next start
     */
    void flushed(Log finished, boolean survives) {
        if (finished != null && survives) {
            finished.delete();
        } else if (finished != null) {
            finished.close();
        }
        if (survives) {
            for (Path file : recovered) {
                try {
                    disk.delete(file);
                } catch (IOException e) {
                    // The manifest no longer asks for it, so the next start removes it.
                }
            }
        }
        recovered = List.of();
    }
}
