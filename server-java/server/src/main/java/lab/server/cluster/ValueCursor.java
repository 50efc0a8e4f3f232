package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import lab.storage.Cursor;
import lab.storage.SteppingCursor;

/** The values of a range of records: without tombstones and without prefixes. */
final class ValueCursor implements SteppingCursor {

    private final Cursor records;

    /**
     * @param records closed with this cursor
     */
    ValueCursor(Cursor records) {
        this.records = records;
    }

    @Override
    public Step step() {
        Step step = records.step();
        return step == Step.ENTRY && StampedRecord.isTombstone(records.value()) ? Step.PASSED : step;
    }

    @Override
    public MemorySegment key() {
        return records.key();
    }

    @Override
    public MemorySegment value() {
        return StampedRecord.value(records.value());
    }

    @Override
    public void close() {
        records.close();
    }
}
