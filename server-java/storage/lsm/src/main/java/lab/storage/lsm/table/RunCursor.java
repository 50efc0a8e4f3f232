package lab.storage.lsm.table;

import java.util.Arrays;
import java.util.List;
import lab.storage.lsm.entry.EntryCursor;

/** Walks over the tables of a run, one after the other. */
final class RunCursor extends ForwardingCursor {

    private final List<Table> tables;
    private final byte[] from;
    private final byte[] to;
    private final boolean verifies;
    private int nextTable;
    private EntryCursor entries;

    /**
     * @param tables   those to walk over, in this order; what lies outside the range at their end does no harm
     * @param verifies whether each block is checked again
     */
    RunCursor(List<Table> tables, boolean verifies, byte[] from, byte[] to) {
        this.verifies = verifies;
        this.tables = tables;
        this.from = from;
        this.to = to;
    }

    @Override
    public boolean next() {
        while (entries == null || !entries.next()) {
            if (nextTable == tables.size()) {
                return false;
            }
            Table table = tables.get(nextTable++);
            if (to != null && Arrays.compareUnsigned(table.firstKey(), to) >= 0) {
                nextTable = tables.size();
                return false;
            }
            entries = verifies ? table.verifiedCursor(from, to) : table.cursor(from, to);
        }
        return true;
    }

    @Override
    EntryCursor current() {
        return entries;
    }

    @Override
    public long bufferBytes() {
        EntryCursor used = entries;
        return used == null ? 0 : used.bufferBytes();
    }
}
