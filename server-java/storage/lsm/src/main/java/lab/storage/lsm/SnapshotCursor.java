package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import lab.storage.Cursor;
import lab.storage.SnapshotExpiredException;

/** The cursor that callers get: memtables and tables merged as one snapshot sees them, without deletes. */
final class SnapshotCursor implements Cursor {

    /** A value in memory up to this size is copied, so that it stays readable when the memtable is taken back. */
    private static final int COPIED_BYTES = 32 * 1024;

    private final List<Table> tables;
    private final List<MemtableCursor> memtables = new ArrayList<>(2);
    private final Consumer<SnapshotCursor> onClose;
    private MergeCursor entries;
    private byte[] copy = new byte[0];
    private boolean copied;
    private int valueLength;
    private boolean expired;
    private boolean closed;

    /**
     * @param view     held by the caller during this call
     * @param from     first key, or null
     * @param to       key after the last one, or null
     * @param sequence the last write that is seen
     * @param onClose  told once when the cursor is closed
     */
    SnapshotCursor(View view, byte[] from, byte[] to, long sequence, Consumer<SnapshotCursor> onClose) {
        this.onClose = onClose;
        // References of its own: holding the view would keep its memtables too.
        this.tables = view.tables();
        tables.forEach(Table::retain);
        try {
            add(view.active, from, to, sequence);
            if (view.frozen != null) {
                add(view.frozen, from, to, sequence);
            }
            List<EntryCursor> newestFirst = new ArrayList<>(memtables);
            for (Run run : view.runs) {
                newestFirst.add(run.cursor(from, to));
            }
            entries = new MergeCursor(newestFirst, true);
        } catch (Throwable e) {
            memtables.forEach(MemtableCursor::close);
            tables.forEach(Table::release);
            throw e;
        }
    }

    private void add(Memtable memtable, byte[] from, byte[] to, long sequence) {
        if (memtable.count() > 0) {
            memtables.add(new MemtableCursor(memtable, from, to, sequence));
        }
    }

    /** Memtables that this cursor keeps. */
    synchronized List<Memtable> memtables() {
        return expired || closed ? List.of() : memtables.stream().map(MemtableCursor::memtable).toList();
    }

    /** Takes the memtables back; the next move fails if there are any. Called by any thread. */
    synchronized void expire() {
        if (!expired && !closed && !memtables.isEmpty()) {
            expired = true;
            memtables.forEach(MemtableCursor::close);
        }
    }

    @Override
    public boolean next() {
        if (memtables.isEmpty()) {
            // Nothing can be taken back, so there is nobody to lock out.
            return advance();
        }
        synchronized (this) {
            return advance();
        }
    }

    private boolean advance() {
        if (expired) {
            throw new SnapshotExpiredException("This range read was cut short: it was so slow that it kept a memtable "
                    + "in memory that writers needed. Read faster, or in smaller ranges.");
        }
        if (closed || !entries.next()) {
            return false;
        }
        int length = entries.valueLength();
        valueLength = length;
        copied = length <= COPIED_BYTES && entries.source() instanceof MemtableCursor;
        if (copied) {
            if (copy.length < length) {
                copy = new byte[Math.max(length, 2 * copy.length)];
            }
            MemorySegment.copy(entries.valueSegment(), ValueLayout.JAVA_BYTE, entries.valueOffset(), copy, 0, length);
        }
        return true;
    }

    @Override
    public MemorySegment key() {
        return MemorySegment.ofArray(entries.key()).asSlice(0, entries.keyLength());
    }

    @Override
    public MemorySegment value() {
        return copied ? MemorySegment.ofArray(copy).asSlice(0, valueLength)
                : entries.valueSegment().asSlice(entries.valueOffset(), valueLength);
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            if (!expired) {
                memtables.forEach(MemtableCursor::close);
            }
            tables.forEach(Table::release);
        }
        onClose.accept(this);
    }
}
