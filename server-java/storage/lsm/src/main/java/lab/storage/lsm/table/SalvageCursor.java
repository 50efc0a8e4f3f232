package lab.storage.lsm.table;

import java.util.function.Consumer;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.entry.EntryCursor;

/** Walks over those blocks of a table that are whole. */
final class SalvageCursor extends ForwardingCursor {

    private final Table table;
    private final BlockTableCursor entries;
    private final Consumer<CorruptionException> damaged;
    private long nextBlock;
    private boolean entered;

    /**
     * @param damaged receives each block that is left out
     */
    SalvageCursor(Table table, Consumer<CorruptionException> damaged) {
        this.table = table;
        this.entries = table.blockwise();
        this.damaged = damaged;
    }

    @Override
    public boolean next() {
        while (!entered || !entries.next()) {
            if (nextBlock == table.blocks()) {
                return false;
            }
            try {
                entries.only(nextBlock++);
                entered = true;
            } catch (CorruptionException e) {
                entered = false;
                damaged.accept(e);
            }
        }
        return true;
    }

    @Override
    EntryCursor current() {
        return entries;
    }
}
