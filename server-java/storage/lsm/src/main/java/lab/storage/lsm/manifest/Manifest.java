package lab.storage.lsm.manifest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.table.Run;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which tables make up the store, newest first, as the file says it; {@link ManifestFile} writes it. {@code
 * manifest_format.md} describes the file.
 *
 * @param boot         {@link lab.storage.lsm.disk.Disk#boot()} when the store was opened last; empty if that is not known
 * @param nextFile     number of the next table or log; greater than that of every table named here
 * @param firstLog     logs with a lower number are not needed
 * @param lastSequence number of the last write that is in tables, with all before it; {@link #UNKNOWN} if it is not known
 * @param runs         the runs, newest first
 */
public record Manifest(String boot, long nextFile, long firstLog, long lastSequence, List<RunEntry> runs) {

    /** Name of the file in its folder. */
    public static final String FILE_NAME = "MANIFEST";
    /** A sequence that is not known. */
    public static final long UNKNOWN = -1;
    static final String TEMPORARY_NAME = "MANIFEST.tmp";
    static final String HEADER = "lsm-manifest 3\n";
    static final String CHECKSUM = "crc32c ";
    /** Written after each change once it is on disk: what stands before it was there whole. */
    static final String DURABLE = "durable\n";
    private static final Logger LOG = LoggerFactory.getLogger(Manifest.class);
    /** With which a change begins. */
    private static final List<String> FIRST_WORDS = List.of("boot ", "next-file ");
    private static final int CHECKSUM_LINE_BYTES = CHECKSUM.length() + 9;

    /**
     * @param level  see {@link Run}
     * @param tables in key order
     */
    public record RunEntry(int level, List<TableEntry> tables) {
    }

    /**
     * @param table     number of the table
     * @param sizeBytes size of its file
     */
    public record TableEntry(long table, long sizeBytes) {
    }

    static final Manifest EMPTY = new Manifest("", 1, 0, 0, List.of());
    /** What is known before the first line. */
    private static final Manifest NOTHING = new Manifest("", 1, 0, UNKNOWN, List.of());

    /**
     * Reads the manifest of a folder; a folder without one is an empty store. A change at its end that is not whole was
     * never in force, unless the file says that it was on disk.
     *
     * @throws CorruptionException if it is not what was written
     */
    public static Manifest read(Path folder) throws IOException {
        return read(folder, damage -> {
            throw damage;
        });
    }

    /**
     * Reads the manifest of a folder up to what is damaged.
     *
     * @param damaged receives what is
     * @return the state before that; null if nothing is whole
     */
    public static Manifest read(Path folder, Consumer<CorruptionException> damaged) throws IOException {
        Path file = folder.resolve(FILE_NAME);
        if (!Files.exists(file)) {
            return EMPTY;
        }
        String text = Files.readString(file, StandardCharsets.ISO_8859_1);
        if (!text.startsWith(HEADER)) {
            damaged.accept(new CorruptionException(file, 0, "the first line is '" + text.lines().findFirst().orElse("")
                    + "', this program knows '" + HEADER.strip() + "'"));
            return null;
        }
        return readChanges(file, text, damaged);
    }

    private static Manifest readChanges(Path file, String text, Consumer<CorruptionException> damaged) {
        Manifest state = null;
        int at = 0;
        while (at < text.length()) {
            int end = endOfChange(text, at);
            if (end < 0) {
                break;
            }
            state = new Reading(state == null ? NOTHING : state).of(text, at, end);
            at = text.startsWith(DURABLE, end) ? end + DURABLE.length() : end;
        }
        if (at < text.length() && (state == null || text.indexOf(DURABLE, at) >= 0)) {
            damaged.accept(new CorruptionException(file, at,
                    "the checksum of the change that begins here is not that of its lines"));
        } else if (at < text.length()) {
            String tail = text.substring(at);
            boolean isChange = FIRST_WORDS.stream().anyMatch(word -> word.startsWith(tail) || tail.startsWith(word));
            LOG.warn("The manifest {} ends in {} bytes that are {}; they are ignored, from offset {} on", file, tail.length(),
                    isChange ? "a change that was not written whole and never in force"
                            : "no change: all changes before them are whole", at);
        }
        return state;
    }

    /** Whether the store was opened last in a boot. */
    public boolean isOf(String other) {
        return !boot.isEmpty() && boot.equals(other);
    }

    /** Where the change ends that begins at a position, its checksum included; -1 if it is not whole. */
    private static int endOfChange(String text, int from) {
        int line = text.indexOf("\n" + CHECKSUM, from) + 1;
        int end = line + CHECKSUM_LINE_BYTES;
        return line > 0 && end <= text.length() && text.startsWith(checksumLine(text.substring(from, line)), line) ? end
                : -1;
    }

    static String checksumLine(String body) {
        CRC32C crc = new CRC32C();
        crc.update(body.getBytes(StandardCharsets.ISO_8859_1));
        return String.format("%s%08x\n", CHECKSUM, (int) crc.getValue());
    }

    /** Makes the state after a change from the one before it. */
    private static final class Reading {

        private final Manifest before;
        private final List<RunEntry> runs = new ArrayList<>();
        private String boot;
        private long nextFile;
        private long firstLog;
        private long lastSequence;

        Reading(Manifest before) {
            this.before = before;
            this.boot = before.boot;
            this.nextFile = before.nextFile;
            this.firstLog = before.firstLog;
            this.lastSequence = before.lastSequence;
        }

        Manifest of(String text, int from, int to) {
            text.substring(from, to).lines().forEach(this::line);
            return new Manifest(boot, nextFile, firstLog, lastSequence, List.copyOf(runs));
        }

        private void line(String line) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "boot" -> boot = words[1];
                case "next-file" -> nextFile = Long.parseLong(words[1]);
                case "first-log" -> firstLog = Long.parseLong(words[1]);
                case "last-sequence" -> lastSequence = Long.parseLong(words[1]);
                case "run" -> runs.add(new RunEntry(Integer.parseInt(words[1]), new ArrayList<>()));
                case "keep" -> runs.addAll(before.runs.subList(Integer.parseInt(words[1]), Integer.parseInt(words[2])));
                case "part" -> runs.getLast().tables().addAll(before.runs.get(Integer.parseInt(words[1])).tables()
                        .subList(Integer.parseInt(words[2]), Integer.parseInt(words[3])));
                case "table" -> runs.getLast().tables().add(new TableEntry(Long.parseLong(words[1]),
                        Long.parseLong(words[2])));
                default -> {
                    // The header and the checksum, which were looked at; another line would not have its checksum.
                }
            }
        }
    }
}
