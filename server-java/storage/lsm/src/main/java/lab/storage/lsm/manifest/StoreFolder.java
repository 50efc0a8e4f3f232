package lab.storage.lsm.manifest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.storage.lsm.background.BackgroundPacer;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.memory.MemoryBudget;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.LiveEstimate;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import lab.storage.lsm.table.TableWriter;

/**
 * The files of a store: tables, logs, and the manifest that names them. Makes new ones and tells the manifest; which
 * tables a reader sees is the business of the view.
 */
public final class StoreFolder {

    private static final String TABLE = ".table";
    private static final String LOG = ".log";
    private static final Pattern OWN_NAME = Pattern.compile("(\\d{6,18})\\.(table|log)");
    private static final long NOT_OWN = -1;

    private final Path folder;
    private final Disk disk;
    private final LsmOptions options;
    private final MemoryBudget memory;
    private final Executor cleaner;
    private final Manifest opened;
    private final ManifestFile manifest;
    private final TreeMap<Long, Path> oldLogs = new TreeMap<>();
    private final List<Path> stray = new ArrayList<>();
    /** What the manifest says of the boot: of this one not before all logs of another one are whole. */
    private String boot;
    private long nextFile;
    private long lastSequence;

    private StoreFolder(Path folder, Disk disk, LsmOptions options, MemoryBudget memory, Executor cleaner,
            Manifest opened) {
        this.folder = folder;
        this.disk = disk;
        this.options = options;
        this.memory = memory;
        this.cleaner = cleaner;
        this.opened = opened;
        this.manifest = new ManifestFile(disk, folder);
        this.boot = opened.boot();
        this.nextFile = opened.nextFile();
        this.lastSequence = opened.lastSequence();
    }

    /** File of a table. */
    public static Path tableFile(Path folder, long number) {
        return folder.resolve(digits(number) + TABLE);
    }

    /** File of a log. */
    public static Path logFile(Path folder, long number) {
        return folder.resolve(digits(number) + LOG);
    }

    /**
     * Reads the manifest, without changing anything. A new store has a manifest before it has anything else, so tables or
     * logs without one are not what a crash left behind, but a store of which a part is missing, or another program's.
     * Files whose names are not exactly those of this store are left alone.
     *
     * @throws CorruptionException if the manifest is damaged or missing
     */
    public static StoreFolder open(Path folder, Disk disk, LsmOptions options, MemoryBudget memory, Executor cleaner)
            throws IOException {
        boolean isNew = !Files.exists(folder.resolve(Manifest.FILE_NAME));
        StoreFolder opened = new StoreFolder(folder, disk, options, memory, cleaner, Manifest.read(folder));
        try (var files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                long number = number(name);
                if (isNew && number != NOT_OWN) {
                    throw new CorruptionException(folder.resolve(Manifest.FILE_NAME), 0,
                            "it is missing, but the folder holds " + name + ", which is named as a file of this store");
                }
                opened.classify(file, name, number);
            }
        }
        return opened;
    }

    private void classify(Path file, String name, long number) {
        nextFile = Math.max(nextFile, number + 1);
        if (name.equals(Manifest.TEMPORARY_NAME) || number != NOT_OWN && (name.endsWith(TABLE) ? !names(opened, number)
                : number < opened.firstLog())) {
            stray.add(file);
        } else if (number != NOT_OWN && name.endsWith(LOG)) {
            oldLogs.put(number, file);
        }
    }

    /**
     * Begins to change the folder: writes the manifest anew, so that what was read of it survives a loss of power, and
     * then removes what a crash left behind.
     *
     * @param runs        the ones that {@link #openTables} gave
     * @param logsAreWhole whether nothing of the logs is to be cut
     */
    public synchronized void begin(List<Run> runs, boolean logsAreWhole) throws IOException {
        if (logsAreWhole) {
            boot = disk.boot();
        }
        if (commit(runs, opened.firstLog(), opened.lastSequence())) {
            for (Path file : stray) {
                disk.delete(file);
            }
        }
        stray.clear();
    }

    /** Says that the logs of before are whole from now on, for what is not was cut. */
    public synchronized void logsAreWhole(List<Run> runs) throws IOException {
        if (!boot.equals(disk.boot())) {
            boot = disk.boot();
            commit(runs, opened.firstLog(), lastSequence);
        }
    }

    /** Whether the machine was not started anew since the logs were written. */
    public boolean logsAreOfThisBoot() {
        return opened.isOf(disk.boot());
    }

    /** Finds the tables of a folder by their names, by number. */
    public static SortedMap<Long, Path> tablesIn(Path folder) throws IOException {
        return named(folder, TABLE);
    }

    /** Finds the logs of a folder by their names, by number. */
    public static SortedMap<Long, Path> logsIn(Path folder) throws IOException {
        return named(folder, LOG);
    }

    private static SortedMap<Long, Path> named(Path folder, String end) throws IOException {
        SortedMap<Long, Path> byNumber = new TreeMap<>();
        try (var files = Files.newDirectoryStream(folder, "*" + end)) {
            for (Path file : files) {
                long number = number(file.getFileName().toString());
                if (number != NOT_OWN) {
                    byNumber.put(number, file);
                }
            }
        }
        return byNumber;
    }

    private static boolean names(Manifest manifest, long number) {
        return manifest.runs().stream().flatMap(run -> run.tables().stream())
                .anyMatch(table -> table.table() == number);
    }

    /** Number of a table or log by its name; {@link #NOT_OWN} for any other file. */
    private static long number(String name) {
        Matcher own = OWN_NAME.matcher(name);
        if (!own.matches()) {
            return NOT_OWN;
        }
        long number = Long.parseLong(own.group(1));
        return digits(number).equals(own.group(1)) ? number : NOT_OWN;
    }

    private static String digits(long number) {
        return String.format("%06d", number);
    }

    /**
     * Opens the tables that the manifest names.
     *
     * @param tables receives them as they are opened; each has one reference, which is the caller's
     * @return the runs, newest first
     */
    public List<Run> openTables(List<Table> tables) throws IOException {
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

    private Table open(long number, Path file) throws IOException {
        return Table.open(number, file, disk, cleaner,
                options.verifyChecksums() == LsmOptions.VerifyChecksums.ALWAYS);
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
        return open(entry.table(), file);
    }

    /** Logs of before, oldest first, by number. */
    public SortedMap<Long, Path> oldLogs() {
        return oldLogs;
    }

    /** Number of the last write that is in tables, with all before it; {@link Manifest#UNKNOWN} if that is not known. */
    public synchronized long lastSequence() {
        return lastSequence;
    }

    /** Makes a log that is not in use yet. */
    public Log newLog(long capacity, long stepBytes) throws IOException {
        long number = takeNumber();
        boolean synced = options.wal() == LsmOptions.Wal.SYNC;
        Log log = Log.create(disk, logFile(folder, number), number, capacity, stepBytes, synced);
        if (synced) {
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
    public List<Table> write(EntryCursor entries, List<Run> older, BackgroundPacer pace, BooleanSupplier stop) throws IOException {
        List<Table> written = new ArrayList<>();
        try {
            boolean more = entries.next();
            while (more && !stop.getAsBoolean()) {
                long number = takeNumber();
                Path file = tableFile(folder, number);
                try (TableWriter writer = new TableWriter(disk, file, options.bloomBitsPerKey(), options.compression(),
                        new LiveEstimate(older), memory.inTableWriters())) {
                    do {
                        writer.add(entries);
                        pace.step(writer.position());
                        more = entries.next();
                    } while (more && !isFull(writer) && !stop.getAsBoolean());
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

    private boolean isFull(TableWriter writer) {
        return writer.position() >= options.maxTableBytes() || writer.growingBytes() >= memory.tableWriterBytes() / 2;
    }

    private Table openWritten(long number, Path file) throws IOException {
        try {
            return open(number, file);
        } catch (IOException | RuntimeException e) {
            disk.delete(file);
            throw e;
        }
    }

    /** Gives back tables that no manifest names. */
    public static void discard(List<Table> tables) {
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
     * @param firstLog   number of the oldest log that is still needed, or {@link Long#MAX_VALUE} for none
     * @param inTablesTo number of the last write that is in these tables, with all before it, if that is known
     * @return whether files that they replace may be deleted, because the change survives a loss of power
     * @throws IOException if the next start will find the runs of before
     */
    public synchronized boolean commit(List<Run> runs, long firstLog, long inTablesTo) throws IOException {
        disk.forceFolder(folder);
        long sequence = Math.max(lastSequence, inTablesTo);
        String known = sequence == Manifest.UNKNOWN ? "" : "last-sequence " + sequence + '\n';
        boolean isDurable = manifest.commit((boot.isEmpty() ? "" : "boot " + boot + '\n') + "next-file " + nextFile + "\nfirst-log " + Math.min(firstLog, nextFile) + '\n'
                + known, runs);
        lastSequence = sequence;
        return isDurable;
    }

    /** Gives the files up that are open. */
    public synchronized void close() {
        manifest.close();
    }

    /** Returns the disk on which the folder lies. */
    public Disk disk() {
        return disk;
    }

    public Path path() {
        return folder;
    }
}
