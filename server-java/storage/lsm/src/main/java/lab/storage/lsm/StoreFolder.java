package lab.storage.lsm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;

/**
 * The files of a store: tables, logs, and the manifest that names them. Makes new ones and tells the manifest; which
 * tables a reader sees is the business of {@link View}.
 */
final class StoreFolder {

    private static final String TABLE = ".table";
    private static final String LOG = ".log";

    private final Path folder;
    private final Disk disk;
    private final LsmOptions options;
    private final Executor cleaner;
    private final Manifest opened;
    private long nextFile;

    private StoreFolder(Path folder, Disk disk, LsmOptions options, Executor cleaner, Manifest opened, long nextFile) {
        this.folder = folder;
        this.disk = disk;
        this.options = options;
        this.cleaner = cleaner;
        this.opened = opened;
        this.nextFile = nextFile;
    }

    /** File of a table. */
    static Path tableFile(Path folder, long number) {
        return folder.resolve(String.format("%06d", number) + TABLE);
    }

    /** File of a log. */
    static Path logFile(Path folder, long number) {
        return folder.resolve(String.format("%06d", number) + LOG);
    }

    /**
     * Reads the manifest and removes what a crash left behind. A new store has a manifest before it has a table, so tables
     * without one are not what a crash left behind, but a store of which a part is missing.
     *
     * @throws CorruptionException if the manifest is damaged or missing
     */
    static StoreFolder open(Path folder, Disk disk, LsmOptions options, Executor cleaner) throws IOException {
        boolean isNew = !Files.exists(folder.resolve(Manifest.FILE_NAME));
        Manifest manifest = Manifest.read(folder);
        long nextFile = manifest.nextFile();
        List<Path> stray = new ArrayList<>();
        try (var files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                long number = number(name);
                nextFile = Math.max(nextFile, number + 1);
                if (isNew && name.endsWith(TABLE)) {
                    throw new CorruptionException(folder.resolve(Manifest.FILE_NAME), 0,
                            "it is missing, but the folder holds the table " + name);
                }
                if (name.equals(Manifest.TEMPORARY_NAME) || name.endsWith(TABLE) && !names(manifest, number)
                        || name.endsWith(LOG) && number < manifest.firstLog()) {
                    stray.add(file);
                }
            }
        }
        for (Path file : stray) {
            disk.delete(file);
        }
        if (isNew) {
            new Manifest(nextFile, 0, List.of()).write(disk, folder);
        }
        return new StoreFolder(folder, disk, options, cleaner, manifest, nextFile);
    }

    private static boolean names(Manifest manifest, long number) {
        return manifest.runs().stream().flatMap(run -> run.tables().stream())
                .anyMatch(table -> table.table() == number);
    }

    /** Number of a table or log by its name; 0 for any other file. */
    private static long number(String name) {
        int end = name.length() - (name.endsWith(TABLE) ? TABLE.length() : name.endsWith(LOG) ? LOG.length() : 0);
        String digits = name.substring(0, end);
        return end < name.length() && digits.matches("\\d{1,18}") ? Long.parseLong(digits) : 0;
    }

    /**
     * Opens the tables that the manifest names.
     *
     * @param tables receives them as they are opened; each has one reference, which is the caller's
     * @return the runs, newest first
     */
    List<Run> openTables(List<Table> tables) throws IOException {
        List<Run> runs = new ArrayList<>();
        for (Manifest.RunEntry run : opened.runs()) {
            List<Table> ofRun = new ArrayList<>();
            for (Manifest.TableEntry entry : run.tables()) {
                Table table = openTable(entry);
                tables.add(table);
                ofRun.add(table);
            }
            runs.add(new Run(run.level(), ofRun));
        }
        return runs;
    }

    private Table openTable(Manifest.TableEntry entry) throws IOException {
        Path file = tableFile(folder, entry.table());
        if (!Files.exists(file)) {
            throw new CorruptionException(file, 0, "the manifest names this table, but the file is missing");
        }
        if (Files.size(file) != entry.sizeBytes()) {
            throw new CorruptionException(file, Math.min(Files.size(file), entry.sizeBytes()),
                    "the file has " + Files.size(file) + " bytes, the manifest says " + entry.sizeBytes());
        }
        return Table.open(entry.table(), file, disk, cleaner);
    }

    /** Logs of before, oldest first, by number. */
    TreeMap<Long, Path> oldLogs() throws IOException {
        TreeMap<Long, Path> logs = new TreeMap<>();
        try (var files = Files.newDirectoryStream(folder, "*" + LOG)) {
            for (Path file : files) {
                logs.put(number(file.getFileName().toString()), file);
            }
        }
        return logs;
    }

    /** Makes a log that is not in use yet. */
    Log newLog(long capacity, long stepBytes) throws IOException {
        long number = takeNumber();
        Log log = Log.create(disk, logFile(folder, number), number, capacity, stepBytes);
        if (options.wal() == LsmOptions.Wal.SYNC) {
            disk.forceFolder(folder);
        }
        return log;
    }

    /**
     * Writes a run of tables and forces them to disk. No manifest names them yet.
     *
     * @param entries closed by the caller
     * @param older   runs that lie under what is written, for the estimate of live keys
     * @param stop    asked now and then; when it says true, what was written is removed
     * @return the tables with one reference each; none if there was no entry or it was stopped
     */
    List<Table> write(EntryCursor entries, List<Run> older, Pace pace, BooleanSupplier stop) throws IOException {
        List<Table> written = new ArrayList<>();
        try {
            boolean more = entries.next();
            while (more && !stop.getAsBoolean()) {
                long number = takeNumber();
                Path file = tableFile(folder, number);
                try (TableWriter writer = new TableWriter(disk, file, options.bloomBitsPerKey(), options.compression(),
                        new LiveEstimate(older))) {
                    do {
                        writer.add(entries);
                        pace.step(writer.position());
                        more = entries.next();
                    } while (more && writer.position() < options.maxTableBytes() && !stop.getAsBoolean());
                    if (stop.getAsBoolean()) {
                        break;
                    }
                    writer.finish();
                    pace.endOfFile();
                }
                written.add(openWritten(number, file));
            }
            if (!stop.getAsBoolean()) {
                return written;
            }
        } catch (Throwable e) {
            discard(written);
            throw e;
        }
        discard(written);
        return List.of();
    }

    private Table openWritten(long number, Path file) throws IOException {
        try {
            return Table.open(number, file, disk, cleaner);
        } catch (IOException | RuntimeException e) {
            disk.delete(file);
            throw e;
        }
    }

    /** Gives back tables that no manifest names. */
    static void discard(List<Table> tables) {
        for (Table table : tables) {
            table.markObsolete();
            table.release();
        }
    }

    private synchronized long takeNumber() {
        return nextFile++;
    }

    /**
     * Makes these runs the ones that the next start finds.
     *
     * @param firstLog number of the oldest log that is still needed, or {@link Long#MAX_VALUE} for none
     * @return whether files that they replace may be deleted, because the change survives a loss of power
     * @throws IOException if the next start will find the runs of before
     */
    synchronized boolean commit(List<Run> runs, long firstLog) throws IOException {
        List<Manifest.RunEntry> entries = new ArrayList<>();
        for (Run run : runs) {
            entries.add(new Manifest.RunEntry(run.level(), run.tables().stream()
                    .map(table -> new Manifest.TableEntry(table.id(), table.sizeBytes())).toList()));
        }
        disk.forceFolder(folder);
        return new Manifest(nextFile, Math.min(firstLog, nextFile), entries).write(disk, folder);
    }

    Disk disk() {
        return disk;
    }

    Path path() {
        return folder;
    }
}
