package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import lab.storage.Bytes;

/** Walks over one table. The caller holds a reference to the table as long as it uses the cursor. */
final class TableCursor implements EntryCursor {

    private final Table table;
    private final MemorySegment to;
    private long block;
    private long blockStart;
    private long blockEnd;
    private int count;
    private int index;
    private long entry;

    /**
     * @param from first key, or null
     * @param to   key after the last one, or null
     */
    TableCursor(Table table, MemorySegment from, MemorySegment to) {
        this.table = table;
        this.to = to;
        if (table.blocks() == 0) {
            return;
        }
        if (from == null) {
            enter(0);
            index = -1;
        } else {
            enter(Math.max(0, table.blockFor(from)));
            index = table.lowerBound(from, blockStart, blockEnd, count) - 1;
        }
    }

    private void enter(long nextBlock) {
        table.checkBlock(nextBlock);
        block = nextBlock;
        blockStart = table.blockOffset(nextBlock);
        blockEnd = table.blockOffset(nextBlock + 1);
        count = table.entryCount(blockEnd);
    }

    @Override
    public boolean next() {
        index++;
        if (index >= count) {
            if (block + 1 >= table.blocks()) {
                index = count;
                return false;
            }
            enter(block + 1);
            index = 0;
        }
        entry = blockStart + table.entryOffset(blockEnd, count, index);
        return to == null || Bytes.compare(key(), to) < 0;
    }

    @Override
    public MemorySegment key() {
        return table.keyAt(entry);
    }

    @Override
    public MemorySegment value() {
        return table.valueAt(entry);
    }
}
