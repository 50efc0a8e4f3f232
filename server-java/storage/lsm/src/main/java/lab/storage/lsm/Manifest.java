package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which tables make up the store, newest first. The file is replaced as a whole: written beside the old one, forced to
 * disk, renamed over it, and the folder forced to disk. {@code manifest_format.md} describes it.
 *
 * @param nextTable number of the next table; greater than that of every table named here
 * @param tables    the tables, newest first
 */
record Manifest(long nextTable, List<Entry> tables) {

    private static final Logger LOG = LoggerFactory.getLogger(Manifest.class);
    static final String FILE_NAME = "MANIFEST";
    private static final String TEMPORARY_NAME = "MANIFEST.tmp";
    private static final String HEADER = "lsm-manifest 1";

    /**
     * @param table     number of the table
     * @param sizeBytes size of its file
     */
    record Entry(long table, long sizeBytes) {
    }

    static final Manifest EMPTY = new Manifest(1, List.of());

    /** File of a table. */
    static Path tableFile(Path folder, long table) {
        return folder.resolve(String.format("%06d.table", table));
    }

    /**
     * Reads the manifest of a folder; a folder without one is an empty store.
     *
     * @throws CorruptionException if it is not what {@link #write} wrote
     */
    static Manifest read(Path folder) throws IOException {
        Path file = folder.resolve(FILE_NAME);
        if (!Files.exists(file)) {
            return EMPTY;
        }
        String text = Files.readString(file, StandardCharsets.ISO_8859_1);
        int lastLine = text.lastIndexOf("crc32c ");
        if (lastLine < 0) {
            throw new CorruptionException(file, text.length(), "the line with the checksum is missing");
        }
        String body = text.substring(0, lastLine);
        String expected = checksumLine(body);
        if (!text.substring(lastLine).equals(expected)) {
            throw new CorruptionException(file, lastLine, "the checksum line is '" + text.substring(lastLine).strip()
                    + "', expected '" + expected.strip() + "'");
        }
        return parse(file, body);
    }

    private static Manifest parse(Path file, String body) {
        String[] lines = body.split("\n");
        if (!lines[0].equals(HEADER)) {
            throw new CorruptionException(file, 0, "the first line is '" + lines[0] + "', this program knows '"
                    + HEADER + "'");
        }
        long nextTable = Long.parseLong(lines[1].substring("next-table ".length()));
        List<Entry> tables = new ArrayList<>();
        for (int i = 2; i < lines.length; i++) {
            String[] words = lines[i].split(" ");
            tables.add(new Entry(Long.parseLong(words[1]), Long.parseLong(words[2])));
        }
        return new Manifest(nextTable, List.copyOf(tables));
    }

    /**
     * Replaces the manifest of a folder.
     *
     * @return true if the new one survives a loss of power; false if it is in place, but the folder could not be forced
     *     to disk, so that after a loss of power the old one may be back
     * @throws IOException if the old one is still in place
     */
    boolean write(Path folder) throws IOException {
        StringBuilder body = new StringBuilder(HEADER).append('\n').append("next-table ").append(nextTable).append('\n');
        for (Entry entry : tables) {
            body.append("table ").append(entry.table).append(' ').append(entry.sizeBytes).append('\n');
        }
        body.append(checksumLine(body.toString()));
        Path temporary = folder.resolve(TEMPORARY_NAME);
        try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            ByteBuffer bytes = ByteBuffer.wrap(body.toString().getBytes(StandardCharsets.ISO_8859_1));
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        }
        Files.move(temporary, folder.resolve(FILE_NAME), StandardCopyOption.ATOMIC_MOVE,
                StandardCopyOption.REPLACE_EXISTING);
        try {
            forceFolder(folder);
            return true;
        } catch (IOException e) {
            LOG.error("The folder {} cannot be forced to disk; files of the state before stay there", folder, e);
            return false;
        }
    }

    /** Forces names in a folder to disk; a new file is lost with the power if only its contents were forced. */
    static void forceFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Removes what a crash left behind: tables that no manifest names and half-written manifests. */
    void removeStrayFiles(Path folder) throws IOException {
        List<Path> stray = new ArrayList<>();
        try (var files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                boolean known = tables.stream().anyMatch(entry -> tableFile(folder, entry.table).equals(file));
                if (name.equals(TEMPORARY_NAME) || name.endsWith(".table") && !known) {
                    stray.add(file);
                }
            }
        }
        for (Path file : stray) {
            Files.delete(file);
        }
    }

    private static String checksumLine(String body) {
        CRC32C crc = new CRC32C();
        crc.update(body.getBytes(StandardCharsets.ISO_8859_1));
        return String.format("crc32c %08x\n", (int) crc.getValue());
    }
}
