package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import lab.storage.Cursor;

/** The values of a range of records: without tombstones and without prefixes. */
final class ValueCursor implements Cursor {

    private final Cursor records;

    /**
     * @param records closed with this cursor
     */
    ValueCursor(Cursor records) {
        this.records = records;
    }

    @Override
    public boolean next() {
        while (records.next()) {
            if (!StampedRecord.isTombstone(records.value())) {
                return true;
            }
        }
        return false;
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
