package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.memory.VersionedCursor;
import lab.storage.memory.VersionedMap;

/** The cursor that callers get: memtables and tables merged as one snapshot sees them, without deletes. */
final class SnapshotCursor implements Cursor {

    private final List<Table> tables;
    private final List<MemtableCursor> memtableCursors = new ArrayList<>();
    private final AtomicReference<List<VersionedMap>> memtables = new AtomicReference<>(List.of());
    private final Consumer<SnapshotCursor> onClose;
    private EntryCursor entries;
    private boolean closed;

    /**
     * @param view     held by the caller during this call
     * @param from     first key, or null
     * @param to       key after the last one, or null
     * @param sequence the last write that is seen
     * @param onClose  told once when the cursor is closed
     */
    SnapshotCursor(View view, MemorySegment from, MemorySegment to, long sequence, Consumer<SnapshotCursor> onClose) {
        this.onClose = onClose;
        // References of its own: holding the view would keep its memtables on the heap too.
        this.tables = view.tables;
        tables.forEach(Table::retain);
        try {
            byte[] first = from == null ? null : Bytes.array(from);
            byte[] end = to == null ? null : Bytes.array(to);
            List<VersionedMap> maps = view.frozen == null ? List.of(view.active) : List.of(view.active, view.frozen);
            List<EntryCursor> newestFirst = new ArrayList<>();
            for (VersionedMap map : maps) {
                memtableCursors.add(new MemtableCursor(new VersionedCursor(map, first, end, sequence)));
            }
            newestFirst.addAll(memtableCursors);
            for (Table table : tables) {
                newestFirst.add(new TableCursor(table, from, to));
            }
            entries = new MergeCursor(newestFirst, true);
            memtables.set(maps);
        } catch (Throwable e) {
            tables.forEach(Table::release);
            throw e;
        }
    }

    /** Memtables that this cursor keeps on the heap. */
    List<VersionedMap> memtables() {
        return memtables.get();
    }

    /** Takes the memtables back; the next move fails if it needs one. Called by any thread. */
    void expire() {
        memtables.set(List.of());
        memtableCursors.forEach(MemtableCursor::expire);
    }

    @Override
    public boolean next() {
        return entries != null && entries.next();
    }

    @Override
    public MemorySegment key() {
        return entries.key();
    }

    @Override
    public MemorySegment value() {
        return entries.value();
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            entries = null;
            expire();
            tables.forEach(Table::release);
            onClose.accept(this);
        }
    }
}
