package lab.storage.lsm;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lab.storage.StorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings back what the logs hold. The state is the one after some write, with every write before it and none after it:
 * reading ends at the first record that is not whole, and a log that does not go on where the one before it ended is not
 * read, because writes between them are missing. What is left out is removed before anything is written, or the next
 * start would stop there again and leave out what was written since.
 */
final class Recovery {

    private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

    private final StoreFolder folder;
    private final Spares spares;
    private final LsmOptions options;
    private final List<Path> files = new ArrayList<>();
    private List<Run> runs;
    private Memtable memtable;
    private long firstLog;
    private long lastSequence;
    /** Whether a log was read, so that the next one must go on where it ended. */
    private boolean anyRead;
    /** Whether a log was left out before any was read, because it says that it was never used. */
    private boolean anyUnused;
    /** The log at which reading ended, or null. */
    private Path cut;
    /** Whether nothing of that log was read, so that it goes too. */
    private boolean cutWhole;

    /**
     * @param runs what the manifest names
     */
    Recovery(StoreFolder folder, Spares spares, LsmOptions options, List<Run> runs) {
        this.folder = folder;
        this.spares = spares;
        this.options = options;
        this.runs = runs;
    }

    /**
     * Reads the logs of a folder.
     *
     * @param tables receives tables that are written because the logs hold more than a memtable
     */
    void run(List<Table> tables) throws IOException {
        Map<Long, Path> logs = folder.oldLogs();
        firstLog = logs.isEmpty() ? Long.MAX_VALUE : logs.keySet().iterator().next();
        memtable = spares.newMemtable(firstLog);
        boolean complete = true;
        for (Map.Entry<Long, Path> log : logs.entrySet()) {
            files.add(log.getValue());
            if (complete) {
                complete = read(log.getKey(), log.getValue(), tables);
            } else {
                LOG.warn("The log {} is not read, because the one before it is not whole; its writes are lost",
                        log.getValue());
            }
        }
        if (!complete) {
            // What was left out must not be found the next time, when the cut would no longer show.
            removeAfterCut(logs);
        }
        if (memtable.count() == 0) {
            for (Path file : files) {
                folder.disk().delete(file);
            }
            files.clear();
        }
    }

    /** The cut goes last: as long as anything comes after it, it must be found again. */
    private void removeAfterCut(Map<Long, Path> logs) throws IOException {
        boolean after = false;
        for (Path file : logs.values()) {
            if (after) {
                remove(file);
            }
            after |= file.equals(cut);
        }
        folder.disk().forceFolder(folder.path());
        if (cutWhole) {
            remove(cut);
            folder.disk().forceFolder(folder.path());
        }
    }

    private void remove(Path file) throws IOException {
        folder.disk().delete(file);
        files.remove(file);
    }

    /** Says that reading ends with nothing of this log. */
    private boolean leaveOut(Path file) {
        cut = file;
        cutWhole = true;
        return false;
    }

    /** Whether the next log may be read. */
    private boolean read(long number, Path file, List<Table> tables) throws IOException {
        try (LogReader reader = new LogReader(file)) {
            if (!reader.begun(number)) {
                if (reader.torn()) {
                    LOG.warn("The log {} has no whole header; nothing of it is read", file);
                    return leaveOut(file);
                }
                // Prepared and never used; whether a later one was is seen by its number.
                anyUnused |= !anyRead;
                return true;
            }
            if (anyRead && reader.firstSequence() != lastSequence + 1) {
                LOG.warn("The log {} begins with write {}, but the one before it ends with write {}; it is not read",
                        file, reader.firstSequence(), lastSequence);
                return leaveOut(file);
            }
            if (anyUnused && !anyRead) {
                // Logs are used in order, so the one before it was, and nothing of it has reached the disk.
                LOG.warn("The log {} begins with write {}, but the one before it is empty; it is not read", file,
                        reader.firstSequence());
                return leaveOut(file);
            }
            anyRead = true;
            lastSequence = reader.firstSequence() - 1;
            reader.replay((key, value) -> {
                checkSize(file, key.length, value == null ? 0 : value.byteSize());
                if (!memtable.fits(Memtable.bytesFor(key.length, value == null ? 0 : (int) value.byteSize()))) {
                    writeOut(tables);
                }
                lastSequence++;
                memtable.put(key, Keys.hash(key, key.length), value, lastSequence);
            });
            if (!reader.torn()) {
                LOG.info("The log {} was read: {} writes", file, reader.records());
                return true;
            }
            cut = file;
            LOG.warn("The log {} ends in a record that was not written whole; it was cut at offset {} after {} writes, "
                    + "{} bytes are dropped", file, reader.end(), reader.records(), reader.sizeBytes() - reader.end());
            folder.disk().truncate(file, reader.end());
            return false;
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
            written = folder.write(entries, runs, new Pace(0, 0, () -> true, bytes -> { }), () -> false);
        } finally {
            entries.close();
        }
        tables.addAll(written);
        runs = new ArrayList<>(runs);
        runs.addFirst(new Run(0, written));
        folder.commit(runs, firstLog);
        memtable.release();
        memtable = spares.newMemtable(firstLog);
    }

    /** What the logs held and no table has; the reference is the caller's. */
    Memtable memtable() {
        return memtable;
    }

    /** Number of the last write. */
    long lastSequence() {
        return lastSequence;
    }

    /** Files of the logs that hold it. */
    List<Path> files() {
        return files;
    }

    /** Runs, with those that were written meanwhile. */
    List<Run> runs() {
        return runs;
    }
}
