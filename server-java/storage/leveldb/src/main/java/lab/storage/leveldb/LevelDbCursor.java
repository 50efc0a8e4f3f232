package lab.storage.leveldb;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;
import lab.storage.Cursor;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;

/** A range over a LevelDB snapshot. */
final class LevelDbCursor implements Cursor {

    private final Snapshot snapshot;
    private final DBIterator entries;
    private final byte[] end;
    private Map.Entry<byte[], byte[]> entry;
    private boolean closed;

    LevelDbCursor(DB db, byte[] from, byte[] to) {
        snapshot = db.getSnapshot();
        entries = db.iterator(new ReadOptions().snapshot(snapshot));
        end = to;
        if (from == null) {
            entries.seekToFirst();
        } else {
            entries.seek(from);
        }
    }

    @Override
    public boolean next() {
        if (closed || !entries.hasNext()) {
            return false;
        }
        entry = entries.next();
        return end == null || Arrays.compareUnsigned(entry.getKey(), end) < 0;
    }

    @Override
    public MemorySegment key() {
        return MemorySegment.ofArray(entry.getKey());
    }

    @Override
    public MemorySegment value() {
        return MemorySegment.ofArray(entry.getValue());
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            try {
                entries.close();
                snapshot.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
