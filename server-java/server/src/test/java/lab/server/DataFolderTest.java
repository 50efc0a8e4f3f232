package lab.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import lab.storage.Bytes;
import lab.storage.EngineMarker;
import lab.storage.Storage;
import lab.storage.conformance.Length;
import lab.storage.files.FileLayout;
import lab.storage.files.FilesStorage;
import lab.storage.leveldb.LevelDbSettings;
import lab.storage.leveldb.LevelDbStorage;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.rocksdb.RocksDbStorage;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A data folder belongs to the engine that made it: the server opens it with no other, and changes nothing in it. */
class DataFolderTest {

    private static final int KEYS = 200;
    private static final List<String> ENGINES = List.of("lsm", "rocksdb", "leveldb", "files");

    @TempDir
    private Path folder;

    /** What a folder says about its engine. */
    enum Marking {
        MARKED, OF_BEFORE_THE_MARKER, KILLED_WHILE_IT_WAS_MARKED
    }

    private static Storage open(String engine, Path store) {
        return switch (engine) {
            case "lsm" -> new LsmStorage(store, LsmOptions.builder().build());
            case "rocksdb" -> new RocksDbStorage(store);
            case "leveldb" -> new LevelDbStorage(store, LevelDbSettings.PUBLISHED);
            default -> new FilesStorage(store, FileLayout.FLAT);
        };
    }

    /** The folder of a store that was killed after its writes. */
    private Path killed(String engine, Marking marking) throws IOException {
        Path copy = folder.resolve(engine);
        Path live = folder.resolve(engine + "-live");
        try (Storage storage = open(engine, live)) {
            for (int i = 0; i < KEYS; i++) {
                storage.put(Bytes.utf8("key" + i), Bytes.utf8("value" + i));
            }
            try (Stream<Path> files = Files.walk(live)) {
                for (Path file : (Iterable<Path>) files::iterator) {
                    Files.copy(file, copy.resolve(live.relativize(file)));
                }
            }
        }
        Path marker = copy.resolve(EngineMarker.FILE_NAME);
        switch (marking) {
            case MARKED -> assertEquals(engine, Files.readString(marker).strip());
            case OF_BEFORE_THE_MARKER -> Files.delete(marker);
            case KILLED_WHILE_IT_WAS_MARKED -> Files.writeString(marker, "l");
            default -> throw new AssertionError(marking);
        }
        return copy;
    }

    private static Map<String, String> contents(Path store) throws IOException {
        Map<String, String> contents = new TreeMap<>();
        try (Stream<Path> files = Files.walk(store)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                contents.put(file.toString(), Files.getLastModifiedTime(file) + " "
                        + (Files.isDirectory(file) ? "" : Arrays.hashCode(Files.readAllBytes(file))));
            }
        }
        return contents;
    }

    @ParameterizedTest
    @EnumSource(Marking.class)
    void noOtherEngineOpensTheFolderAndNothingInItIsChanged(Marking marking) throws IOException {
        if (marking == Marking.KILLED_WHILE_IT_WAS_MARKED) {
            Length.assumeLong();
        }
        List<String> pairs = new ArrayList<>();
        for (String owner : ENGINES) {
            Path store = killed(owner, marking);
            Map<String, String> before = contents(store);
            for (String other : ENGINES) {
                if (!other.equals(owner)) {
                    StringWriter said = new StringWriter();
                    assertEquals(2, Main.run(new PrintWriter(said), "--engine", other, "--data", store.toString(),
                            "--port", "0"), owner + " opened by " + other);
                    assertTrue(said.toString().contains("holds a store of the engine " + owner)
                            && said.toString().contains("--data"), said.toString());
                    assertEquals(before, contents(store), owner + " was changed by " + other);
                    pairs.add(owner + other);
                }
            }
            for (int open = 0; open < 2; open++) {
                try (Storage storage = open(owner, store)) {
                    for (int i = 0; i < KEYS; i++) {
                        assertArrayEquals(("value" + i).getBytes(StandardCharsets.UTF_8),
                                storage.get(Bytes.utf8("key" + i)), owner);
                    }
                }
                assertEquals(owner + '\n', Files.readString(store.resolve(EngineMarker.FILE_NAME)));
            }
        }
        assertEquals(12, pairs.size());
    }

    @ParameterizedTest
    @EnumSource(Marking.class)
    void theToolForStoresOfLsmChangesNoOther(Marking marking) throws IOException, InterruptedException {
        Path store = killed("rocksdb", marking);
        Map<String, String> before = contents(store);
        Process repair = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), "lab.server.Main", "lsm", "repair", store.toString()).start();
        String said = new String(repair.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(2, repair.waitFor(), said);
        assertTrue(said.contains("rocksdb"), said);
        assertEquals(before, contents(store));
    }
}
