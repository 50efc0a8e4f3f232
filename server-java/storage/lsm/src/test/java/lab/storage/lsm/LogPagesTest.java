package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.log.Log;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Pages of a log are mapped before a writer stores into them: the first one cost a put up to 8 ms. */
@EnabledOnOs(OS.LINUX)
class LogPagesTest {

    private static final int STEP_BYTES = 256 * 1024;

    @TempDir
    private Path folder;

    /** KiB of a file's mapping that are in this process's table of pages, as the kernel counts them. */
    private static long mappedKib(Path file) throws IOException {
        boolean inside = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            inside = line.contains("-") && line.contains("/") ? line.endsWith(file.toString()) : inside;
            if (inside && line.startsWith("Rss:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new AssertionError(file + " is not mapped");
    }

    @Test
    void newLogHasThePagesOfItsFirstStep() throws IOException {
        Path file = folder.resolve("000001.log");
        Log log = Log.create(Disk.REAL, file, 1, 4 << 20, STEP_BYTES, false);
        try {
            long mapped = mappedKib(file);
            assertTrue(mapped >= STEP_BYTES / 1024, "only " + mapped + " KiB are mapped");
        } finally {
            log.delete();
        }
    }

    @Test
    @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void reservingAheadOfALogThatWasDeletedMeanwhileEnds() throws IOException {
        Log log = Log.create(Disk.REAL, folder.resolve("000002.log"), 2, 4 << 20, STEP_BYTES, false);
        log.begin(1);
        log.delete();
        log.reserveAhead(0);
        assertEquals(0, Files.list(folder).count());
    }
}
