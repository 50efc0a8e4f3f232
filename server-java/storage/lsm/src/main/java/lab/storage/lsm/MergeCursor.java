package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.PriorityQueue;
import lab.storage.Bytes;

/** Merges sorted sources into one. Of entries with the same key only that of the newest source is shown. */
final class MergeCursor implements EntryCursor {

    private final PriorityQueue<Source> sources;
    private final boolean dropTombstones;
    private Source current;

    /**
     * @param newestFirst    the sources, the newest one first
     * @param dropTombstones whether deletes are left out; right only if no older source lies under these
     */
    MergeCursor(List<? extends EntryCursor> newestFirst, boolean dropTombstones) {
        this.dropTombstones = dropTombstones;
        this.sources = new PriorityQueue<>(Math.max(1, newestFirst.size()));
        int age = 0;
        for (EntryCursor cursor : newestFirst) {
            Source source = new Source(cursor, age++);
            if (source.advance()) {
                sources.add(source);
            }
        }
    }

    @Override
    public boolean next() {
        while (true) {
            if (current != null && current.advance()) {
                sources.add(current);
            }
            current = sources.poll();
            if (current == null) {
                return false;
            }
            for (Source older = sources.peek(); older != null && Bytes.compare(older.key, current.key) == 0;
                    older = sources.peek()) {
                sources.poll();
                if (older.advance()) {
                    sources.add(older);
                }
            }
            if (!dropTombstones || value() != null) {
                return true;
            }
        }
    }

    @Override
    public MemorySegment key() {
        return current.key;
    }

    @Override
    public MemorySegment value() {
        return current.cursor.value();
    }

    private static final class Source implements Comparable<Source> {

        private final EntryCursor cursor;
        private final int age;
        private MemorySegment key;

        Source(EntryCursor cursor, int age) {
            this.cursor = cursor;
            this.age = age;
        }

        boolean advance() {
            if (cursor.next()) {
                key = cursor.key();
                return true;
            }
            return false;
        }

        @Override
        public int compareTo(Source other) {
            int byKey = Bytes.compare(key, other.key);
            return byKey != 0 ? byKey : Integer.compare(age, other.age);
        }
    }
}
