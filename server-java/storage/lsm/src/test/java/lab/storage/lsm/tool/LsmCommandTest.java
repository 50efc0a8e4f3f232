package lab.storage.lsm.tool;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command names what is damaged in a folder, and repairing keeps all that is whole and removes nothing. */
class LsmCommandTest {

    private static final LsmOptions OPTIONS = LsmOptions.builder().compaction(LsmOptions.Compaction.OFF).build();
    private static final int KEYS = 300;
    private static final int LOGGED = 20;

    @TempDir
    private Path temporary;

    private Path folder;
    private String printed;

    /** Two tables, the newer one with one key in two, and a log whose writes were forced to disk. */
    @BeforeEach
    void fill() throws IOException {
        folder = temporary.resolve("data");
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            for (int run = 0; run < 2; run++) {
                for (int i = 0; i < KEYS; i += run + 1) {
                    storage.put(utf8(key(i)), utf8(value(run)));
                }
                storage.flush();
            }
        }
        long sequence = Manifest.read(folder).lastSequence();
        Log log = Log.create(Disk.REAL, StoreFolder.logFile(folder, 90), 90, 1 << 20, 1 << 16, true);
        log.begin(sequence + 1);
        for (int i = 0; i < LOGGED; i++) {
            log.append(("logged" + i).getBytes(StandardCharsets.UTF_8), utf8(value(i)), sequence + 1 + i);
        }
        log.syncAll();
        log.close();
    }

    private static String key(int i) {
        return String.format("key%04d", i);
    }

    private static String value(int run) {
        return "value of run " + run + " ".repeat(100);
    }

    private int run(String command) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int code = LsmCommand.run(new String[] {command, folder.toString()}, new PrintStream(bytes, true,
                StandardCharsets.UTF_8));
        printed = bytes.toString(StandardCharsets.UTF_8);
        return code;
    }

    private void damage(Path file, int at) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[at] ^= 1;
        Files.write(file, bytes);
    }

    private Path newest() throws IOException {
        return StoreFolder.tablesIn(folder).lastEntry().getValue();
    }

    private void repairKeeps(Path damaged, byte[] before) throws IOException {
        assertEquals(LsmCommand.WHOLE, run("repair"), printed);
        assertTrue(printed.contains(damaged.getFileName().toString()), printed);
        assertArrayEquals(before, Files.readAllBytes(folder.resolve("set-aside-1").resolve(damaged.getFileName())));
        assertEquals(LsmCommand.WHOLE, run("verify"), printed);
    }

    @Test
    void wholeStoreIsSaidToBeWholeAndNotChanged() throws IOException {
        byte[] manifest = Files.readAllBytes(folder.resolve(Manifest.FILE_NAME));
        assertEquals(LsmCommand.WHOLE, run("verify"), printed);
        assertTrue(printed.contains((KEYS + KEYS / 2) + " entries in tables, " + LOGGED + " writes in logs"), printed);
        assertEquals(LsmCommand.WHOLE, run("repair"), printed);
        assertArrayEquals(manifest, Files.readAllBytes(folder.resolve(Manifest.FILE_NAME)));
        assertFalse(Files.exists(folder.resolve("set-aside-1")));
        assertEquals(LsmCommand.WHOLE, run("dump"), printed);
        assertTrue(printed.contains("keys from 'key0000' to 'key0299'"), printed);
        assertTrue(printed.contains("log 90: " + LOGGED + " writes"), printed);
    }

    @Test
    void damagedBlockCostsItsEntriesAlone() throws IOException {
        Path table = newest();
        damage(table, 5_000);
        byte[] before = Files.readAllBytes(table);
        assertEquals(LsmCommand.DAMAGED, run("verify"));
        assertTrue(printed.contains(table.getFileName() + " offset "), printed);
        repairKeeps(table, before);
        int newer = 0;
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            for (int i = 0; i < KEYS; i++) {
                String shown = new String(storage.get(utf8(key(i))), StandardCharsets.UTF_8);
                newer += shown.equals(value(1)) ? 1 : 0;
            }
            assertNotNull(storage.get(utf8("logged19")));
        }
        assertTrue(newer > KEYS / 4 && newer < KEYS / 2, newer + " of " + KEYS / 2 + " new values are left");
    }

    @Test
    void tableThatCannotBeOpenedIsSetAside() throws IOException {
        Path table = newest();
        damage(table, (int) Files.size(table) - 1);
        repairKeeps(table, Files.readAllBytes(table));
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            assertArrayEquals(utf8(value(0)).toArray(ValueLayout.JAVA_BYTE),
                    storage.get(utf8(key(0))));
        }
    }

    @Test
    void damagedLogGivesAllItsWholeWrites() throws IOException {
        Path log = StoreFolder.logFile(folder, 90);
        damage(log, 700);
        byte[] before = Files.readAllBytes(log);
        assertEquals(LsmCommand.DAMAGED, run("verify"));
        repairKeeps(log, before);
        int left = 0;
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            for (int i = 0; i < LOGGED; i++) {
                left += storage.get(utf8("logged" + i)) == null ? 0 : 1;
            }
            assertNotNull(storage.get(utf8("logged" + (LOGGED - 1))), "it follows the damage, and is whole");
            assertNull(storage.get(utf8("never written")));
        }
        assertEquals(LOGGED - 1, left);
    }

    @Test
    void storeWithoutAWholeManifestKeepsItsTables() throws IOException {
        Path manifest = folder.resolve(Manifest.FILE_NAME);
        damage(manifest, 20);
        assertEquals(LsmCommand.DAMAGED, run("verify"));
        repairKeeps(manifest, Files.readAllBytes(manifest));
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            for (int i = 0; i < KEYS; i++) {
                assertEquals(value(i % 2 == 0 ? 1 : 0), new String(storage.get(utf8(key(i))), StandardCharsets.UTF_8));
            }
            assertNotNull(storage.get(utf8("logged0")));
        }
    }

    @Test
    void wrongArgumentsAndAFolderInUseAreSaid() {
        assertEquals(LsmCommand.CANNOT_READ, run("remove"));
        assertTrue(printed.startsWith("Usage: "), printed);
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            assertNotNull(storage.get(utf8(key(0))));
            assertEquals(LsmCommand.CANNOT_READ, run("repair"));
            assertTrue(printed.startsWith("The folder " + folder + " is in use by process"), printed);
        }
    }

    @Test
    void folderWithoutAStoreIsNamedAndLeftAsItIs() throws IOException {
        folder = Files.createDirectory(temporary.resolve("other"));
        Files.writeString(folder.resolve("gc.log"), "not a store's");
        for (String command : new String[] {"dump", "verify", "repair"}) {
            assertEquals(LsmCommand.CANNOT_READ, run(command));
            assertTrue(printed.startsWith("There is no store in the folder " + folder), printed);
        }
        try (var files = Files.list(folder)) {
            assertEquals(1, files.count());
        }
        folder = temporary.resolve("missing");
        assertEquals(LsmCommand.CANNOT_READ, run("verify"));
        assertFalse(Files.exists(folder));
    }
}
