package lab.storage;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;

/**
 * A data folder belongs to one engine: another one would delete or convert what it finds there. The file {@value #FILE_NAME}
 * names the engine, and is there before the engine's first file. A folder of before, without one, is known by what is in it.
 */
public final class EngineMarker {

    /** Name of the marker; no engine takes a hidden file for one of its own. */
    public static final String FILE_NAME = ".engine";

    private static final byte[] LSM_LOG_MAGIC = "LABSTLOG".getBytes(StandardCharsets.US_ASCII);

    private EngineMarker() {
    }

    /**
     * Makes a folder the one of an engine. Call it before the engine opens the folder, which must be there.
     *
     * @param engine name of the engine, as given to {@code --engine}
     * @throws StorageException if it is another engine's; then nothing in it was changed
     */
    public static void claim(Path folder, String engine) throws IOException {
        if (isMarked(folder, engine)) {
            return;
        }
        // A lock is the process's, so threads of this one need another.
        synchronized (EngineMarker.class) {
            try (FileChannel marker = FileChannel.open(folder.resolve(FILE_NAME), StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE)) {
                marker.lock();
                if (!isMarked(folder, engine)) {
                    marker.truncate(0);
                    marker.write(ByteBuffer.wrap((engine + '\n').getBytes(StandardCharsets.US_ASCII)));
                    marker.force(true);
                    forceNames(folder);
                }
            }
        }
    }

    /**
     * Refuses a folder that is another engine's, without changing anything.
     *
     * @throws StorageException if it is
     */
    public static void check(Path folder, String engine) throws IOException {
        isMarked(folder, engine);
    }

    /** Whether the marker names this engine; false if there is no whole one, as a process leaves it that is killed there. */
    private static boolean isMarked(Path folder, String engine) throws IOException {
        Path marker = folder.resolve(FILE_NAME);
        String text = Files.exists(marker) ? Files.readString(marker, StandardCharsets.ISO_8859_1) : "";
        boolean isWhole = text.endsWith("\n");
        Set<String> owners = isWhole ? Set.of(text.strip()) : engines(folder);
        for (String owner : owners) {
            if (!owner.equals(engine)) {
                throw new StorageException("The folder " + folder + " holds a store of the engine " + owner + ", not of "
                        + engine + "; nothing in it was changed. Start the server with --engine " + owner
                        + ", or choose another folder for " + engine + " with --data.");
            }
        }
        return isWhole;
    }

    /** Engines whose files are in a folder. */
    private static Set<String> engines(Path folder) throws IOException {
        Set<String> engines = new TreeSet<>();
        boolean isLevel = false;
        boolean isRocks = false;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (name.equals("MANIFEST") || name.matches("\\d{6,18}\\.table") || isLogOfLsm(file, name)) {
                    engines.add("lsm");
                } else if (name.equals(".new") || name.equals(".lock")) {
                    engines.add("files");
                }
                // RocksDB has all that LevelDB has, and more.
                isLevel |= name.equals("CURRENT") || name.matches("MANIFEST-\\d+|\\d+\\.(sst|ldb)");
                isRocks |= name.equals("IDENTITY") || name.matches("OPTIONS-\\d+");
            }
        }
        if (isLevel || isRocks) {
            engines.add(isRocks ? "rocksdb" : "leveldb");
        }
        return engines;
    }

    private static boolean isLogOfLsm(Path file, String name) throws IOException {
        if (!name.matches("\\d{6,18}\\.log")) {
            return false;
        }
        try (InputStream log = Files.newInputStream(file)) {
            return Arrays.equals(log.readNBytes(LSM_LOG_MAGIC.length), LSM_LOG_MAGIC);
        }
    }

    private static void forceNames(Path folder) throws IOException {
        try (FileChannel names = FileChannel.open(folder, StandardOpenOption.READ)) {
            names.force(true);
        }
    }
}
