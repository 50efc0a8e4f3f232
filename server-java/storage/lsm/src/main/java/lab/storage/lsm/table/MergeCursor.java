package lab.storage.lsm.table;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import lab.storage.lsm.entry.EntryCursor;

/** Merges sorted sources into one. Of entries with the same key only that of the newest source is shown. */
public final class MergeCursor implements EntryCursor {

    private static final int CHILDREN = 2;

    /** The source that is shown is on top. */
    private final Source[] heap;
    private final boolean dropTombstones;
    private final List<? extends EntryCursor> all;
    private int size;
    private Source current;

    /**
     * @param newestFirst    the sources, the newest one first; closed with this cursor
     * @param dropTombstones whether deletes are left out; right only if no older source lies under these
     */
    public MergeCursor(List<? extends EntryCursor> newestFirst, boolean dropTombstones) {
        this.dropTombstones = dropTombstones;
        this.all = newestFirst;
        this.heap = new Source[newestFirst.size()];
        int age = 0;
        for (EntryCursor cursor : newestFirst) {
            Source source = new Source(cursor, age++);
            if (source.advance()) {
                heap[size++] = source;
            }
        }
        for (int at = size / 2 - 1; at >= 0; at--) {
            siftDown(at);
        }
    }

    @Override
    public boolean next() {
        while (true) {
            if (current != null) {
                advance(0);
            }
            if (size == 0) {
                current = null;
                return false;
            }
            current = heap[0];
            skipOlderVersions();
            if (!dropTombstones || current.cursor.valueLength() != EntryCursor.TOMBSTONE) {
                return true;
            }
        }
    }

    /** Entries with the current key are right below the top, for the order is by key and then by age. */
    private void skipOlderVersions() {
        for (int child = 1; child < Math.min(size, 1 + CHILDREN); ) {
            if (heap[child].hasKeyOf(current)) {
                advance(child);
            } else {
                child++;
            }
        }
    }

    /** Moves a source to its next entry and to its new place, or out of the heap if it has no more. */
    private void advance(int at) {
        if (!heap[at].advance()) {
            heap[at] = heap[--size];
            heap[size] = null;
        }
        if (at < size) {
            siftDown(at);
        }
    }

    private void siftDown(int from) {
        Source source = heap[from];
        int at = from;
        while (true) {
            int child = CHILDREN * at + 1;
            if (child >= size) {
                break;
            }
            if (child + 1 < size && heap[child + 1].before(heap[child])) {
                child++;
            }
            if (!heap[child].before(source)) {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = source;
    }

    /** The source of the current entry. */
    public EntryCursor source() {
        return current.cursor;
    }

    @Override
    public byte[] key() {
        return current.cursor.key();
    }

    @Override
    public int keyLength() {
        return current.cursor.keyLength();
    }

    @Override
    public long prefix() {
        return current.prefix;
    }

    @Override
    public MemorySegment valueSegment() {
        return current.cursor.valueSegment();
    }

    @Override
    public long valueOffset() {
        return current.cursor.valueOffset();
    }

    @Override
    public int valueLength() {
        return current.cursor.valueLength();
    }

    @Override
    public long bufferBytes() {
        long bytes = 0;
        for (EntryCursor cursor : all) {
            bytes += cursor.bufferBytes();
        }
        return bytes;
    }

    @Override
    public void close() {
        all.forEach(EntryCursor::close);
    }

    private static final class Source {

        private final EntryCursor cursor;
        private final int age;
        private long prefix;

        Source(EntryCursor cursor, int age) {
            this.cursor = cursor;
            this.age = age;
        }

        boolean advance() {
            boolean hasEntry = cursor.next();
            if (hasEntry) {
                prefix = cursor.prefix();
            }
            return hasEntry;
        }

        boolean hasKeyOf(Source other) {
            return prefix == other.prefix && Arrays.equals(cursor.key(), 0, cursor.keyLength(), other.cursor.key(), 0,
                    other.cursor.keyLength());
        }

        boolean before(Source other) {
            if (prefix != other.prefix) {
                return Long.compareUnsigned(prefix, other.prefix) < 0;
            }
            int order = Arrays.compareUnsigned(cursor.key(), 0, cursor.keyLength(), other.cursor.key(), 0,
                    other.cursor.keyLength());
            return order != 0 ? order < 0 : age < other.age;
        }
    }
}
