package lab.server.cluster;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import lab.storage.Cursor;
import lab.storage.StorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Merges the records of several nodes into one range. Of records with the same key only that with the newest version is
 * shown, tombstones too. A node that fails on the way is left out from there on, as long as enough others are left.
 */
final class MergedRecords implements Cursor {

    private static final Logger LOG = LoggerFactory.getLogger(MergedRecords.class);

    private final List<Source> sources = new ArrayList<>();
    /** Those whose current record is still to be shown; the next one first. */
    private final PriorityQueue<Source> waiting = new PriorityQueue<>();
    /** Those whose current record is or was shown, and which move on before the next. */
    private final List<Source> shown = new ArrayList<>();
    private int spare;

    /**
     * @param nodes closed with this cursor; each is at its start
     * @param spare nodes that may fail on the way
     */
    MergedRecords(List<? extends Cursor> nodes, int spare) {
        this.spare = spare;
        for (Cursor node : nodes) {
            Source source = new Source(node);
            sources.add(source);
            shown.add(source);
        }
    }

    @Override
    public boolean next() {
        for (Source source : shown) {
            if (hasNext(source)) {
                waiting.add(source);
            }
        }
        shown.clear();
        Source newest = waiting.poll();
        if (newest == null) {
            return false;
        }
        shown.add(newest);
        while (!waiting.isEmpty() && waiting.peek().key.mismatch(newest.key) < 0) {
            shown.add(waiting.poll());
        }
        return true;
    }

    private boolean hasNext(Source source) {
        try {
            return source.next();
        } catch (RuntimeException e) {
            if (spare == 0) {
                throw new StorageException("Too few nodes are left to read the range to its end. Read again from the last "
                        + "key.", e);
            }
            spare--;
            LOG.warn("A range continues without a node that failed: {}", e.getMessage());
            return false;
        }
    }

    @Override
    public MemorySegment key() {
        return shown.getFirst().key;
    }

    @Override
    public MemorySegment value() {
        return shown.getFirst().cursor.value();
    }

    @Override
    public void close() {
        sources.forEach(source -> source.cursor.close());
    }

    /** A node, ordered by its current key, and where keys are the same, the newest version first. */
    private static final class Source implements Comparable<Source> {

        private final Cursor cursor;
        private MemorySegment key;
        private long version;

        Source(Cursor cursor) {
            this.cursor = cursor;
        }

        boolean next() {
            if (!cursor.next()) {
                return false;
            }
            key = cursor.key();
            version = StampedRecord.version(cursor.value());
            return true;
        }

        @Override
        public int compareTo(Source other) {
            long common = key.mismatch(other.key);
            if (common < 0) {
                return Long.compare(other.version, version);
            }
            if (common == key.byteSize() || common == other.key.byteSize()) {
                return Long.compare(key.byteSize(), other.key.byteSize());
            }
            return Integer.compare(key.get(java.lang.foreign.ValueLayout.JAVA_BYTE, common) & 0xff,
                    other.key.get(java.lang.foreign.ValueLayout.JAVA_BYTE, common) & 0xff);
        }
    }
}
