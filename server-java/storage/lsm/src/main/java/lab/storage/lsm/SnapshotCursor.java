package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import lab.storage.Cursor;
import lab.storage.SnapshotExpiredException;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.memtable.MemtableCursor;
import lab.storage.lsm.table.MergeCursor;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/** The cursor that callers get: memtables and tables merged as one snapshot sees them, without deletes. */
final class SnapshotCursor implements Cursor {

    /** A value in memory up to this size is copied, so that it stays readable when the memtable is taken back. */
    private static final int COPIED_BYTES = 32 * 1024;
    /** Deletes that {@link #next()} passes before it looks whether its memtables are wanted back. */
    private static final int STEP_ENTRIES = 256;

    private final List<Table> tables;
    private final List<MemtableCursor> memtables = new ArrayList<>(2);
    private final Consumer<SnapshotCursor> onClose;
    /**
     * Held while the cursor moves. Whoever wants the memtables back never waits for it, because writers wait for that
     * thread.
     */
    private final ReentrantLock moving = new ReentrantLock();
    private MergeCursor entries;
    private byte[] copy = new byte[0];
    private boolean copied;
    private int valueLength;
    /** The memtables are wanted back. */
    private volatile boolean expired;
    private volatile boolean closed;
    /** The memtables were given back. Guarded by {@link #moving}. */
    private boolean givenBack;

    /**
     * @param view     held by the caller during this call
     * @param from     first key, or null
     * @param to       key after the last one, or null
     * @param sequence the last write that is seen
     * @param onClose  called once when the cursor is closed
     */
    SnapshotCursor(View view, byte[] from, byte[] to, long sequence, Consumer<SnapshotCursor> onClose) {
        this.onClose = onClose;
        // References of its own: holding the view would keep its memtables too.
        this.tables = view.tables();
        tables.forEach(Table::retain);
        try {
            for (Memtable memtable : view.memtables()) {
                add(memtable, from, to, sequence);
            }
            List<EntryCursor> newestFirst = new ArrayList<>(memtables);
            for (Run run : view.runs) {
                newestFirst.add(run.cursor(from, to));
            }
            entries = new MergeCursor(newestFirst, false);
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

    /** Memtables that it keeps. */
    List<Memtable> memtables() {
        return expired || closed ? List.of() : memtables.stream().map(MemtableCursor::memtable).toList();
    }

    /** Bytes of its buffers on the heap. */
    long bufferBytes() {
        return closed ? 0 : entries.bufferBytes() + copy.length;
    }

    /**
     * Takes the memtables back: the next move fails if there are any. A cursor that is moving gives them back itself, a few
     * entries later. Called by any thread, waits for none.
     */
    void expire() {
        if (!memtables.isEmpty()) {
            expired = true;
            giveBackIfExpired();
        }
    }

    private void giveBackIfExpired() {
        // Whoever holds the lock looks again after it was let go, so nobody's wish is missed.
        if (expired && moving.tryLock()) {
            try {
                giveBack();
            } finally {
                moving.unlock();
            }
        }
    }

    private void giveBack() {
        if (!givenBack) {
            givenBack = true;
            memtables.forEach(MemtableCursor::close);
        }
    }

    @Override
    public boolean next() {
        Step step;
        do {
            step = advance(STEP_ENTRIES);
        } while (step == Step.PASSED);
        return step == Step.ENTRY;
    }

    @Override
    public Step step() {
        return advance(1);
    }

    private Step advance(int most) {
        if (memtables.isEmpty()) {
            // Nothing can be taken back, so there is nobody to lock out.
            return pass(most);
        }
        moving.lock();
        try {
            return pass(most);
        } finally {
            moving.unlock();
            giveBackIfExpired();
        }
    }

    /** Passes at most so many deletes. */
    private Step pass(int most) {
        if (expired) {
            throw new SnapshotExpiredException("This range read was cut short: it was so slow that it kept a memtable "
                    + "in memory that writers needed. Read faster, or in smaller ranges.");
        }
        for (int passed = 0; passed < most; passed++) {
            if (closed || !moves()) {
                return Step.END;
            }
            if (entries.valueLength() != EntryCursor.TOMBSTONE) {
                show();
                return Step.ENTRY;
            }
        }
        return Step.PASSED;
    }

    private boolean moves() {
        try {
            return entries.next();
        } catch (InternalError e) {
            throw Table.unreadable(tables, e);
        }
    }

    private void show() {
        valueLength = entries.valueLength();
        copied = valueLength <= COPIED_BYTES && entries.source() instanceof MemtableCursor;
        if (copied) {
            if (copy.length < valueLength) {
                copy = new byte[Math.max(valueLength, 2 * copy.length)];
            }
            MemorySegment.copy(entries.valueSegment(), ValueLayout.JAVA_BYTE, entries.valueOffset(), copy, 0,
                    valueLength);
        }
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
        moving.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            giveBack();
            tables.forEach(Table::release);
        } finally {
            moving.unlock();
        }
        onClose.accept(this);
    }
}
