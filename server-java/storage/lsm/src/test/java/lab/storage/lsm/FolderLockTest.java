package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FolderLockTest {

    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(1 << 20)
            .compaction(LsmOptions.Compaction.OFF).build();
    private static final int REFUSED = 3;

    @TempDir
    private Path folder;

    /** What the second process runs. */
    public static void main(String[] args) {
        try (Storage storage = new LsmStorage(Path.of(args[0]), OPTIONS)) {
            System.out.println("opened " + storage.engine());
        } catch (StorageException e) {
            System.out.println(e.getMessage());
            System.exit(REFUSED);
        }
    }

    @Test
    void secondStoreInTheSameProcessIsRefused() {
        try (Storage first = new LsmStorage(folder, OPTIONS)) {
            StorageException refused = assertThrows(StorageException.class, () -> new LsmStorage(folder, OPTIONS));
            assertTrue(refused.getMessage().contains("in use"), refused.getMessage());
            first.put(utf8("a"), utf8("1"));
        }
        new LsmStorage(folder, OPTIONS).close();
    }

    @Test
    void refusingAStoreOfTheSameProcessDoesNotLetOthersIn() throws Exception {
        try (Storage first = new LsmStorage(folder, OPTIONS)) {
            Path sameFolder = folder.resolve("..").resolve(folder.getFileName());
            assertThrows(StorageException.class, () -> new LsmStorage(sameFolder, OPTIONS));
            Process second = start();
            String said = output(second);
            assertEquals(REFUSED, second.waitFor(), said);
            first.put(utf8("a"), utf8("1"));
        }
    }

    @Test
    void secondProcessIsRefusedUntilTheFirstHasClosed() throws Exception {
        try (Storage first = new LsmStorage(folder, OPTIONS)) {
            first.put(utf8("a"), utf8("1"));
            Process second = start();
            String said = output(second);
            assertEquals(REFUSED, second.waitFor());
            assertTrue(said.contains("process " + ProcessHandle.current().pid()), said);
            assertTrue(said.contains("--data"), said);
        }
        Process third = start();
        assertEquals("opened lsm", output(third).strip());
        assertEquals(0, third.waitFor());
    }

    private Process start() throws IOException {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), FolderLockTest.class.getName(), folder.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    private static String output(Process process) throws IOException {
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
}
