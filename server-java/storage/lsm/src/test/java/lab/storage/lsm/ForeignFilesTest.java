package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import lab.storage.StorageException;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are not the store's own are neither read nor removed, and a folder of another program is refused. */
class ForeignFilesTest {

    private static final List<String> FOREIGN = List.of("gc.log", "12.log", "0000001.log", "000001.log.old", "notes.table",
            "1.table", "000001.table.copy", "server.tmp", "MANIFEST.old", "-00001.log", "99999999999999999999.log");

    @TempDir
    private Path folder;

    private void check() throws IOException {
        for (String name : FOREIGN) {
            assertEquals(name, Files.readString(folder.resolve(name)));
        }
    }

    @Test
    void filesOfOthersAreLeftAlone() throws IOException {
        for (String name : FOREIGN) {
            Files.writeString(folder.resolve(name), name);
        }
        for (int open = 0; open < 3; open++) {
            try (LsmStorage storage = new LsmStorage(folder, LsmOptions.defaults())) {
                check();
                if (open > 0) {
                    assertNotNull(storage.get(utf8("key")));
                }
                storage.put(utf8("key"), utf8("value"));
                storage.flush();
            }
            check();
        }
    }

    @Test
    void folderOfAnotherStoreIsRefusedAndLeftAsItIs() throws IOException {
        Path log = folder.resolve("000004.log");
        Files.writeString(log, "a log of another engine");
        Files.writeString(folder.resolve("CURRENT"), "MANIFEST-000001\n");
        StorageException refused = assertThrows(StorageException.class,
                () -> new LsmStorage(folder, LsmOptions.defaults()));
        assertTrue(refused.getMessage().contains("leveldb"), refused.getMessage());
        assertEquals("a log of another engine", Files.readString(log));
        assertEquals(2, folder.toFile().list().length);
    }
}
