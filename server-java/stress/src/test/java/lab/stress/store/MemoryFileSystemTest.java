package lab.stress.store;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lab.storage.conformance.ShortLived;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A store on a file system that lies in memory and is smaller than a log may grow opens again after a kill: a log is sparse,
 * and there reading one of its holes through a mapping takes memory.
 */
class MemoryFileSystemTest {

    private static final int BYTES = 64 << 20;
    private static final int KEYS = 10;

    @TempDir
    private Path folder;

    /** Opens a store and reads what is there; then writes what is not, and ends as if it were killed. */
    public static void main(String[] args) {
        LsmStorage storage = new LsmStorage(Path.of(args[0]), LsmOptions.defaults());
        int left = 0;
        for (int i = 0; i < KEYS; i++) {
            left += storage.get(utf8("key" + i)) == null ? 0 : 1;
            storage.put(utf8("key" + i), utf8("value"));
        }
        System.out.println(left + " keys");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static String java(String program) {
        List<String> command = new ArrayList<>(ShortLived.JVM);
        command.addFirst(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx96m", "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"), program));
        return "'" + String.join("' '", command) + "' ";
    }

    @Test
    void killedStoreOpensAgain() throws Exception {
        Path disk = Files.createDirectories(folder.resolve("disk"));
        assumeTrue(SmallFileSystem.isPossible(disk), "no file system of one's own can be made here");
        String store = disk.resolve("store").toString();
        String open = java(MemoryFileSystemTest.class.getName()) + store;
        String verify = java("lab.storage.lsm.tool.LsmCommand") + "verify " + store;
        Path errors = folder.resolve("errors");
        try (SmallFileSystem small = SmallFileSystem.run(disk, BYTES, 0, errors,
                List.of("sh", "-c", open + " && " + verify + " && " + open))) {
            List<String> said = small.process().inputReader().readAllLines();
            assertEquals(0, small.process().waitFor(), () -> said + " " + errors);
            assertEquals("0 keys", said.getFirst());
            assertTrue(said.get(1).contains(KEYS + " writes in logs"), said.get(1));
            assertEquals(KEYS + " keys", said.getLast(), Files.readString(errors));
        }
    }
}
