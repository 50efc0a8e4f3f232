package lab.storage.lsm.compaction;

import java.util.List;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/** Checks all tables against their checksums, a piece at a time, the one of the smallest number first, again and again. */
final class Scrubber {

    private static final long PIECE_BYTES = 8 << 20;

    private long lastTable = -1;
    private long nextBlock;

    /** Checks the next piece of some runs, which the caller holds. */
    void step(List<Run> runs) {
        Table table = next(runs);
        if (table == null) {
            return;
        }
        if (table.id() != lastTable) {
            lastTable = table.id();
            nextBlock = 0;
        }
        nextBlock = table.verify(nextBlock, PIECE_BYTES);
        if (nextBlock == table.blocks()) {
            lastTable++;
            nextBlock = 0;
        }
    }

    /** The table at which the last step stopped, or the next one after it. */
    private Table next(List<Run> runs) {
        Table next = null;
        Table first = null;
        for (Table table : Run.tables(runs)) {
            if (first == null || table.id() < first.id()) {
                first = table;
            }
            if (table.id() >= lastTable && (next == null || table.id() < next.id())) {
                next = table;
            }
        }
        return next == null ? first : next;
    }
}
