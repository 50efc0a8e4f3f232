package lab.storage.lsm.manifest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import lab.storage.StorageException;
import lab.storage.lsm.background.BackgroundPacer;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.log.LogReader;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.memtable.MemtableCursor;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings back what the logs hold. The state is the one after some write, with every write before it and none after it, as
 * {@link LogSurvey} finds it. What is left out is taken out of the logs before anything is written, or the next start would
 * stop there again and leave out what was written since; it is kept in files next to them. What is brought back is forced to disk: a loss of power must not take from
 * under later writes what they follow.
 */
public final class Recovery {

    private static final int COPIED_BYTES = 64 * 1024;
    private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

    private final StoreFolder folder;
    private final LongFunction<Memtable> memtables;
    private final LsmOptions options;
    private final LogSurvey survey;
    private final List<Path> files = new ArrayList<>();
    private List<Run> runs;
    private Memtable memtable;
    private long firstLog;
    private long lastSequence;

    /**
     * Looks through the logs of a folder without changing anything.
     *
     * @param memtables makes a memtable whose first log has the given number
     * @param runs      what the manifest names
     * @throws CorruptionException if a part is damaged that was known to be on disk
     */
    public Recovery(StoreFolder folder, LongFunction<Memtable> memtables, LsmOptions options, List<Run> runs)
            throws IOException {
        this.folder = folder;
        this.memtables = memtables;
        this.options = options;
        this.runs = runs;
        this.lastSequence = Math.max(0, folder.lastSequence());
        Map<Long, Path> logs = folder.oldLogs();
        this.firstLog = logs.isEmpty() ? Long.MAX_VALUE : logs.keySet().iterator().next();
        this.survey = LogSurvey.of(logs, folder.lastSequence(), folder.logsAreOfThisBoot());
        survey.check();
    }

    /** Whether nothing of the logs is to be cut. */
    public boolean logsAreWhole() {
        return survey.cut() == null;
    }

    /**
     * Reads the logs.
     *
     * @param tables receives tables that are written because the logs hold more than a memtable
     */
    public void run(List<Table> tables) throws IOException {
        memtable = memtables.apply(firstLog);
        removeWhatIsCut();
        for (LogSurvey.Found log : survey.readable()) {
            files.add(log.file());
            if (log.begun()) {
                force(log.file());
                read(log, tables);
            }
        }
        folder.disk().forceFolder(folder.path());
        folder.logsAreWhole(runs);
        if (memtable.count() == 0) {
            for (Path file : files) {
                folder.disk().delete(file);
            }
            files.clear();
        }
    }

    /** The cut goes last: as long as anything comes after it, it must be found again. */
    private void removeWhatIsCut() throws IOException {
        if (survey.cut() == null) {
            return;
        }
        LOG.warn("{}. {} whole writes after that are not read", survey.cut(), survey.laterWrites());
        Disk disk = folder.disk();
        for (LogSurvey.Found later : survey.afterCut()) {
            setAside(later);
        }
        disk.forceFolder(folder.path());
        LogSurvey.Found cut = survey.cutLog();
        if (survey.readable().contains(cut)) {
            if (cut.dataEnd() > cut.end()) {
                copyCut(cut);
            }
            disk.truncate(cut.file(), cut.end());
        } else {
            setAside(cut);
            disk.forceFolder(folder.path());
        }
    }

    /** A log of which nothing is read, and none of whose bytes is one that somebody wrote, is not kept. */
    private void setAside(LogSurvey.Found log) throws IOException {
        if (log.dataEnd() == 0) {
            folder.disk().delete(log.file());
        } else {
            folder.disk().rename(log.file(), kept(log, 0));
        }
    }

    private void copyCut(LogSurvey.Found cut) throws IOException {
        Disk disk = folder.disk();
        try (FileChannel from = disk.openToRead(cut.file()); FileChannel to = disk.create(kept(cut, cut.end()))) {
            ByteBuffer piece = ByteBuffer.allocate(COPIED_BYTES);
            for (long at = cut.end(); at < cut.dataEnd(); at += COPIED_BYTES) {
                piece.clear().limit((int) Math.min(COPIED_BYTES, cut.dataEnd() - at));
                disk.read(from, piece, at);
                disk.write(to, piece.flip(), at - cut.end());
            }
            disk.force(to);
        }
        disk.forceFolder(folder.path());
    }

    /** File for what is cut out of a log, from an offset on. */
    private static Path kept(LogSurvey.Found log, long offset) {
        Path file = log.file().resolveSibling(log.file().getFileName() + ".cut-at-" + offset);
        LOG.warn("What is not read of the log {} is kept in {}; remove it when nothing of it is needed", log.file(), file);
        return file;
    }

    private void force(Path file) throws IOException {
        try (FileChannel channel = folder.disk().open(file)) {
            folder.disk().force(channel);
        }
    }

    private void read(LogSurvey.Found log, List<Table> tables) throws IOException {
        try (LogReader reader = new LogReader(log.file())) {
            reader.begun(log.number());
            lastSequence = reader.firstSequence() - 1;
            reader.replay((key, value) -> {
                checkSize(log.file(), key.length, value == null ? 0 : value.byteSize());
                if (!memtable.fits(Memtable.bytesFor(key.length, value == null ? 0 : (int) value.byteSize()))) {
                    writeOut(tables);
                }
                lastSequence++;
                memtable.put(key, Keys.hash(key, key.length), value, lastSequence);
            });
            LOG.info("The log {} was read: {} writes", log.file(), reader.writes());
        }
    }

    private void checkSize(Path file, int keyBytes, long valueBytes) {
        if (keyBytes > options.maxKeyBytes() || valueBytes > options.maxValueBytes()) {
            throw new StorageException("The log " + file + " holds an entry of " + keyBytes + " and " + valueBytes
                    + " bytes, larger than this store takes. Start it with --max-key-bytes and --max-value-bytes as "
                    + "large as before.");
        }
    }

    /** The logs are still needed for what follows; reading this part of them again changes nothing. */
    private void writeOut(List<Table> tables) throws IOException {
        MemtableCursor entries = new MemtableCursor(memtable, null, null, Long.MAX_VALUE);
        List<Table> written;
        try {
            written = folder.write(entries, runs, new BackgroundPacer(0, 0, () -> true, bytes -> { }), () -> false);
        } finally {
            entries.close();
        }
        tables.addAll(written);
        runs = new ArrayList<>(runs);
        runs.addFirst(new Run(0, written));
        folder.commit(runs, firstLog, lastSequence);
        memtable.release();
        memtable = memtables.apply(firstLog);
    }

    /** What the logs held and no table has; the reference is the caller's. */
    public Memtable memtable() {
        return memtable;
    }

    /** Number of the last write. */
    public long lastSequence() {
        return lastSequence;
    }

    /** Files of the logs that hold it. */
    public List<Path> files() {
        return files;
    }

    /** Runs, with those that were written meanwhile. */
    public List<Run> runs() {
        return runs;
    }
}
