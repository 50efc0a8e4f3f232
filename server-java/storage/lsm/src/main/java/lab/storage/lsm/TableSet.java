package lab.storage.lsm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The tables in a folder and the manifest that names them. Makes new tables and tells the manifest; which tables a
 * reader sees is the business of {@link View}.
 */
final class TableSet {

    private final Path folder;
    private long nextTable;

    private TableSet(Path folder, long nextTable) {
        this.folder = folder;
        this.nextTable = nextTable;
    }

    /**
     * Opens the tables of a folder, newest first, and removes what a crash left behind.
     *
     * @param opened receives the tables; each has one reference, which is the caller's
     */
    static TableSet open(Path folder, List<Table> opened) throws IOException {
        Manifest manifest = Manifest.read(folder);
        manifest.removeStrayFiles(folder);
        for (Manifest.Entry entry : manifest.tables()) {
            Path file = Manifest.tableFile(folder, entry.table());
            if (!Files.exists(file)) {
                throw new CorruptionException(file, 0, "the manifest names this table, but the file is missing");
            }
            if (Files.size(file) != entry.sizeBytes()) {
                throw new CorruptionException(file, Math.min(Files.size(file), entry.sizeBytes()),
                        "the file has " + Files.size(file) + " bytes, the manifest says " + entry.sizeBytes());
            }
            opened.add(Table.open(entry.table(), file));
        }
        return new TableSet(folder, manifest.nextTable());
    }

    /**
     * Writes a table and forces it to disk. No manifest names it yet.
     *
     * @param stop asked now and then; when it says true, the half-written file is removed
     * @return the table with one reference, or null if there was no entry or it was stopped
     */
    Table write(EntryCursor entries, BooleanSupplier stop) throws IOException {
        long id = takeNumber();
        Path file = Manifest.tableFile(folder, id);
        try (TableWriter writer = new TableWriter(file)) {
            while (entries.next()) {
                writer.add(entries.key(), entries.value());
                if (stop.getAsBoolean()) {
                    return null;
                }
            }
            if (writer.entries() == 0) {
                return null;
            }
            writer.finish();
        }
        try {
            return Table.open(id, file);
        } catch (IOException e) {
            Files.deleteIfExists(file);
            throw e;
        }
    }

    private synchronized long takeNumber() {
        return nextTable++;
    }

    /**
     * Makes these tables the ones that the next start finds.
     *
     * @return whether files that they replace may be deleted, because the change survives a loss of power
     * @throws IOException if the next start will find the tables of before
     */
    synchronized boolean commit(List<Table> tables) throws IOException {
        List<Manifest.Entry> entries = new ArrayList<>();
        for (Table table : tables) {
            entries.add(new Manifest.Entry(table.id(), table.sizeBytes()));
        }
        Manifest.forceFolder(folder);
        return new Manifest(nextTable, entries).write(folder);
    }
}
