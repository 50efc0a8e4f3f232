package lab.storage.lsm.tool;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.log.LogReader;
import lab.storage.lsm.manifest.LogSurvey;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.manifest.ManifestFile;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import lab.storage.lsm.table.LiveEstimate;
import lab.storage.lsm.table.MapCursor;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import lab.storage.lsm.table.TableWriter;

/**
 * Makes a store of what is whole in a damaged one. What was damaged is set aside in a folder of its own, as it was;
 * nothing is removed. Where a part is lost, older values of its keys may be seen again.
 */
final class Repair {

    private final Path folder;
    private final PrintStream out;
    private final List<Run> runs = new ArrayList<>();
    /** What is replaced, and is to be set aside. */
    private final Set<Path> replaced = new LinkedHashSet<>();
    private long nextFile;
    private boolean changed;

    Repair(Path folder, PrintStream out) {
        this.folder = folder;
        this.out = out;
    }

    /** Repairs the folder, if there is anything to repair. */
    void run() throws IOException {
        SortedMap<Long, Path> tables = StoreFolder.tablesIn(folder);
        SortedMap<Long, Path> logs = StoreFolder.logsIn(folder);
        nextFile = 1 + Math.max(tables.isEmpty() ? 0 : tables.lastKey(), logs.isEmpty() ? 0 : logs.lastKey());
        List<CorruptionException> damage = new ArrayList<>();
        Manifest manifest = Files.exists(folder.resolve(Manifest.FILE_NAME)) ? Manifest.read(folder, damage::add) : null;
        boolean manifestIsWhole = manifest != null && damage.isEmpty();
        damage.forEach(this::report);
        changed = !manifestIsWhole;
        try {
            if (manifest != null) {
                nextFile = Math.max(nextFile, manifest.nextFile());
                for (Manifest.RunEntry run : manifest.runs()) {
                    addRun(run);
                }
            }
            if (!manifestIsWhole) {
                addUnnamed(tables, manifest);
            }
            long firstLog = manifestIsWhole ? manifest.firstLog() : 0;
            long sequence = manifestIsWhole ? manifest.lastSequence() : Manifest.UNKNOWN;
            SortedMap<Long, Path> needed = logs.tailMap(firstLog);
            LogSurvey survey = survey(needed, sequence, manifest != null && manifest.isOf(Disk.REAL.boot()));
            if (survey == null || survey.laterWrites() > 0) {
                salvageLogs(needed);
                firstLog = nextFile;
            }
            if (changed) {
                commit(firstLog, sequence);
            } else {
                out.println("The store is whole; nothing was changed.");
            }
        } finally {
            runs.forEach(run -> run.tables().forEach(Table::release));
        }
    }

    private void report(CorruptionException part) {
        out.println(part.file().getFileName() + " offset " + part.offset() + ": " + part.what());
    }

    private void addRun(Manifest.RunEntry run) throws IOException {
        List<Table> whole = new ArrayList<>();
        for (Manifest.TableEntry entry : run.tables()) {
            Table table = salvaged(entry.table());
            if (table != null) {
                whole.add(table);
            }
        }
        if (!whole.isEmpty()) {
            runs.add(new Run(run.level(), whole));
        }
    }

    /** What the manifest would have named after it was damaged: the higher the number, the newer, as far as is known. */
    private void addUnnamed(SortedMap<Long, Path> tables, Manifest manifest) throws IOException {
        for (long number : tables.tailMap(manifest == null ? 0 : manifest.nextFile()).keySet()) {
            Table table = salvaged(number);
            if (table != null) {
                out.println(table.file().getFileName() + ": taken although no manifest names it; where it has keys of "
                        + "other tables, the one of the higher number counts");
                runs.addFirst(new Run(0, List.of(table)));
            }
        }
    }

    /** A table as it is, or what is whole of it as another one; null if nothing is. */
    private Table salvaged(long number) throws IOException {
        Path file = StoreFolder.tableFile(folder, number);
        if (!Files.exists(file)) {
            out.println(file.getFileName() + ": missing; what it held is lost");
            changed = true;
            return null;
        }
        Table table;
        try {
            table = Table.open(number, file);
        } catch (CorruptionException e) {
            report(e);
            setAside(file);
            return null;
        }
        List<CorruptionException> damage = new ArrayList<>();
        EntryCursor all = table.salvage(damage::add);
        while (all.next()) {
            // Reading it finds the damage.
        }
        if (damage.isEmpty()) {
            return table;
        }
        damage.forEach(this::report);
        setAside(file);
        try {
            return write(table.salvage(part -> { }));
        } finally {
            table.release();
        }
    }

    private Table write(EntryCursor entries) throws IOException {
        if (!entries.next()) {
            return null;
        }
        long number = nextFile++;
        Path file = StoreFolder.tableFile(folder, number);
        try (TableWriter writer = new TableWriter(Disk.REAL, file, LsmOptions.DEFAULT_BLOOM_BITS_PER_KEY,
                Compression.NONE, new LiveEstimate(List.of()), new LongAdder())) {
            do {
                writer.add(entries);
            } while (entries.next());
            writer.finish();
        }
        return Table.open(number, file);
    }

    /** Null if a part of them is damaged that was known to be on disk. */
    private LogSurvey survey(SortedMap<Long, Path> logs, long sequence, boolean ofThisBoot) throws IOException {
        try {
            LogSurvey survey = LogSurvey.of(logs, sequence, ofThisBoot);
            survey.check();
            if (survey.laterWrites() > 0) {
                report(survey.hole());
            }
            return survey;
        } catch (CorruptionException e) {
            report(e);
            return null;
        }
    }

    private void salvageLogs(SortedMap<Long, Path> logs) throws IOException {
        TreeMap<byte[], byte[]> newest = new TreeMap<>(Arrays::compareUnsigned);
        for (Map.Entry<Long, Path> log : logs.entrySet()) {
            try (LogReader reader = new LogReader(log.getValue())) {
                LogReader.Records keep = (key, value) -> newest.put(key, value == null ? null
                        : value.toArray(ValueLayout.JAVA_BYTE));
                try {
                    reader.begun(log.getKey());
                } catch (CorruptionException e) {
                    report(e);
                }
                reader.replay(keep);
                long before = reader.writes();
                reader.salvage(keep);
                out.println(log.getValue().getFileName() + ": " + reader.writes() + " whole writes kept, "
                        + (reader.writes() - before) + " of them after a damaged part");
            }
            setAside(log.getValue());
        }
        Table table = write(new MapCursor(newest));
        if (table != null) {
            runs.addFirst(new Run(0, List.of(table)));
        }
    }

    private void setAside(Path file) {
        replaced.add(file);
        changed = true;
    }

    /** The copies are there before the manifest changes, and the files go after it: at no moment is one nowhere. */
    private void commit(long firstLog, long sequence) throws IOException {
        Path aside = newFolder();
        Path manifest = folder.resolve(Manifest.FILE_NAME);
        if (Files.exists(manifest)) {
            Files.copy(manifest, aside.resolve(Manifest.FILE_NAME));
        }
        for (Path file : replaced) {
            Files.createLink(aside.resolve(file.getFileName()), file);
        }
        Disk.REAL.forceFolder(aside);
        Disk.REAL.forceFolder(folder);
        try (ManifestFile written = new ManifestFile(Disk.REAL, folder)) {
            written.commit("next-file " + nextFile + "\nfirst-log " + firstLog + '\n'
                    + (sequence == Manifest.UNKNOWN ? "" : "last-sequence " + sequence + '\n'), runs);
        }
        for (Path file : replaced) {
            Files.delete(file);
        }
        out.println("Repaired. What was damaged is in " + aside + "; remove it when nothing of it is needed.");
    }

    private Path newFolder() throws IOException {
        for (int number = 1; ; number++) {
            Path aside = folder.resolve("set-aside-" + number);
            if (!Files.exists(aside)) {
                return Files.createDirectory(aside);
            }
        }
    }
}
