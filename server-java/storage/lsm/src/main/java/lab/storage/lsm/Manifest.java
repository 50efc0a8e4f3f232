package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which tables make up the store, newest first. The file is replaced as a whole: written beside the old one, forced to
 * disk, renamed over it, and the folder forced to disk. {@code manifest_format.md} describes it.
 *
 * @param nextFile number of the next table or log; greater than that of every table named here
 * @param firstLog logs with a lower number are not needed
 * @param runs     the runs, newest first
 */
record Manifest(long nextFile, long firstLog, List<RunEntry> runs) {

    static final String FILE_NAME = "MANIFEST";
    static final String TEMPORARY_NAME = "MANIFEST.tmp";
    private static final Logger LOG = LoggerFactory.getLogger(Manifest.class);
    private static final String FIRST_HEADER = "lsm-manifest 1";
    private static final String HEADER = "lsm-manifest 2";

    /**
     * @param level  see {@link Run}
     * @param tables in key order
     */
    record RunEntry(int level, List<TableEntry> tables) {
    }

    /**
     * @param table     number of the table
     * @param sizeBytes size of its file
     */
    record TableEntry(long table, long sizeBytes) {
    }

    static final Manifest EMPTY = new Manifest(1, 0, List.of());

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
        boolean first = lines[0].equals(FIRST_HEADER);
        if (!first && !lines[0].equals(HEADER)) {
            throw new CorruptionException(file, 0, "the first line is '" + lines[0] + "', this program knows '"
                    + FIRST_HEADER + "' and '" + HEADER + "'");
        }
        long nextFile = 1;
        long firstLog = 0;
        List<RunEntry> runs = new ArrayList<>();
        for (int i = 1; i < lines.length; i++) {
            String[] words = lines[i].split(" ");
            switch (words[0]) {
                case "next-table", "next-file" -> nextFile = Long.parseLong(words[1]);
                case "first-log" -> firstLog = Long.parseLong(words[1]);
                case "run" -> runs.add(new RunEntry(Integer.parseInt(words[1]), new ArrayList<>()));
                case "table" -> {
                    if (first) {
                        runs.add(new RunEntry(0, new ArrayList<>()));
                    }
                    runs.getLast().tables().add(new TableEntry(Long.parseLong(words[1]), Long.parseLong(words[2])));
                }
                default -> throw new CorruptionException(file, body.indexOf(lines[i]), "the line '" + lines[i]
                        + "' means nothing");
            }
        }
        return new Manifest(nextFile, firstLog, List.copyOf(runs));
    }

    /**
     * Replaces the manifest of a folder.
     *
     * @return true if the new one survives a loss of power; false if it is in place, but the folder could not be forced
     *     to disk, so that after a loss of power the old one may be back
     * @throws IOException if the old one is still in place
     */
    boolean write(Disk disk, Path folder) throws IOException {
        StringBuilder body = new StringBuilder(HEADER).append('\n').append("next-file ").append(nextFile).append('\n')
                .append("first-log ").append(firstLog).append('\n');
        for (RunEntry run : runs) {
            body.append("run ").append(run.level).append('\n');
            for (TableEntry table : run.tables) {
                body.append("table ").append(table.table).append(' ').append(table.sizeBytes).append('\n');
            }
        }
        body.append(checksumLine(body.toString()));
        Path temporary = folder.resolve(TEMPORARY_NAME);
        try (FileChannel channel = disk.create(temporary)) {
            disk.write(channel, ByteBuffer.wrap(body.toString().getBytes(StandardCharsets.ISO_8859_1)), 0);
            disk.force(channel);
        }
        disk.rename(temporary, folder.resolve(FILE_NAME));
        try {
            disk.forceFolder(folder);
            return true;
        } catch (IOException e) {
            LOG.error("The folder {} cannot be forced to disk; files of the state before stay there", folder, e);
            return false;
        }
    }

    private static String checksumLine(String body) {
        CRC32C crc = new CRC32C();
        crc.update(body.getBytes(StandardCharsets.ISO_8859_1));
        return String.format("crc32c %08x\n", (int) crc.getValue());
    }
}
