package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/** Walks over the tables of a run, one after the other. */
final class RunCursor implements EntryCursor {

    private final List<Table> tables;
    private final byte[] from;
    private final byte[] to;
    private int nextTable;
    private EntryCursor entries;

    RunCursor(List<Table> tables, int firstTable, byte[] from, byte[] to) {
        this.tables = tables;
        this.nextTable = firstTable;
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
            entries = table.cursor(from, to);
        }
        return true;
    }

    @Override
    public byte[] key() {
        return entries.key();
    }

    @Override
    public int keyLength() {
        return entries.keyLength();
    }

    @Override
    public long prefix() {
        return entries.prefix();
    }

    @Override
    public MemorySegment valueSegment() {
        return entries.valueSegment();
    }

    @Override
    public long valueOffset() {
        return entries.valueOffset();
    }

    @Override
    public int valueLength() {
        return entries.valueLength();
    }
}
