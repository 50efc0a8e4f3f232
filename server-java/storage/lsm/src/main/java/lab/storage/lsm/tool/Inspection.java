package lab.storage.lsm.tool;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.log.LogReader;
import lab.storage.lsm.manifest.LogSurvey;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.table.Table;

/** Reads all files of a store without changing any, and names what is damaged. */
final class Inspection {

    private static final int SHOWN_KEY_BYTES = 40;

    private final Path folder;
    private final PrintStream out;
    private final List<CorruptionException> damage = new ArrayList<>();

    Inspection(Path folder, PrintStream out) {
        this.folder = folder;
        this.out = out;
    }

    /** Reads everything and prints one line for each damaged part; gives the number of them. */
    int verify() throws IOException {
        Manifest manifest = Manifest.read(folder, damage::add);
        long entries = 0;
        SortedMap<Long, Path> tables = StoreFolder.tablesIn(folder);
        if (manifest != null) {
            for (Manifest.RunEntry run : manifest.runs()) {
                for (Manifest.TableEntry entry : run.tables()) {
                    tables.putIfAbsent(entry.table(), StoreFolder.tableFile(folder, entry.table()));
                    entries += check(entry);
                }
            }
        }
        LogSurvey logs = survey(manifest);
        for (CorruptionException part : damage) {
            out.println(part.file().getFileName() + " offset " + part.offset() + ": " + part.what());
        }
        out.println(damage.isEmpty() ? "The store is whole: " + entries + " entries in tables, "
                + (logs == null ? 0 : logs.readable().stream().mapToLong(LogSurvey.Found::writes).sum())
                + " writes in logs." : damage.size() + (damage.size() == 1 ? " damaged part." : " damaged parts.") + " 'repair' keeps what is whole.");
        return damage.size();
    }

    private long check(Manifest.TableEntry entry) throws IOException {
        Path file = StoreFolder.tableFile(folder, entry.table());
        if (!Files.exists(file)) {
            damage.add(new CorruptionException(file, 0, "the manifest names this table, but the file is missing"));
            return 0;
        }
        Table table;
        try {
            table = Table.open(entry.table(), file);
        } catch (CorruptionException e) {
            damage.add(e);
            return 0;
        }
        try {
            long entries = 0;
            EntryCursor whole = table.salvage(damage::add);
            while (whole.next()) {
                entries++;
            }
            return entries;
        } finally {
            table.release();
        }
    }

    private LogSurvey survey(Manifest manifest) throws IOException {
        SortedMap<Long, Path> logs = StoreFolder.logsIn(folder);
        try {
            LogSurvey survey = LogSurvey.of(manifest == null ? logs : logs.tailMap(manifest.firstLog()),
                    manifest == null ? Manifest.UNKNOWN : manifest.lastSequence(),
                    manifest != null && manifest.isOf(Disk.REAL.boot()));
            survey.check();
            if (survey.laterWrites() > 0) {
                damage.add(survey.hole());
            } else if (survey.cut() != null) {
                out.println("The next start will cut what was never forced to disk: " + survey.cut());
            }
            return survey;
        } catch (CorruptionException e) {
            damage.add(e);
            return null;
        }
    }

    /** Prints what the manifest says, and what each table and log holds. */
    int dump() throws IOException {
        Manifest manifest = Manifest.read(folder, damage::add);
        if (manifest != null) {
            out.println("next-file " + manifest.nextFile() + ", first-log " + manifest.firstLog() + ", last-sequence "
                    + manifest.lastSequence());
            for (Manifest.RunEntry run : manifest.runs()) {
                out.println("run of level " + run.level());
                for (Manifest.TableEntry entry : run.tables()) {
                    dump(entry);
                }
            }
        }
        for (Map.Entry<Long, Path> log : StoreFolder.logsIn(folder).entrySet()) {
            try (LogReader reader = new LogReader(log.getValue())) {
                if (reader.begun(log.getKey())) {
                    reader.replay((key, value) -> { });
                    out.println("log " + log.getKey() + ": " + reader.writes() + " writes from " + reader.firstSequence()
                            + ", whole to offset " + reader.end() + ", forced to disk to offset " + reader.durableEnd()
                            + (reader.torn() ? ", then a record that is not whole" : ""));
                } else {
                    out.println("log " + log.getKey() + ": never used");
                }
            } catch (CorruptionException e) {
                damage.add(e);
            }
        }
        damage.forEach(part -> out.println(part.file().getFileName() + " offset " + part.offset() + ": " + part.what()));
        return damage.size();
    }

    private void dump(Manifest.TableEntry entry) throws IOException {
        try {
            Table table = Table.open(entry.table(), StoreFolder.tableFile(folder, entry.table()));
            out.println("  table " + entry.table() + ": " + table.sizeBytes() + " bytes, " + table.entries() + " entries, "
                    + table.tombstones() + " deletes, keys from " + shown(table.firstKey()) + " to "
                    + shown(table.lastKey()));
            table.release();
        } catch (CorruptionException e) {
            damage.add(e);
        } catch (java.nio.file.NoSuchFileException e) {
            damage.add(new CorruptionException(StoreFolder.tableFile(folder, entry.table()), 0, "the file is missing"));
        }
    }

    /** A key as it can be printed: other bytes than those of ASCII text as two hexadecimal digits. */
    private static String shown(byte[] key) {
        StringBuilder text = new StringBuilder("'");
        String latin = new String(key, 0, Math.min(key.length, SHOWN_KEY_BYTES), StandardCharsets.ISO_8859_1);
        latin.chars().forEach(c -> text.append(c >= ' ' && c <= '~' ? String.valueOf((char) c)
                : String.format("\\x%02x", c)));
        return text.append(key.length > SHOWN_KEY_BYTES ? "...'" : "'").toString();
    }
}
