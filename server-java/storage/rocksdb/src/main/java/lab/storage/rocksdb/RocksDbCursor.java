package lab.storage.rocksdb;

import java.lang.foreign.MemorySegment;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.StorageException;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;

/** A range over a RocksDB snapshot; the iterator takes one of its own when it is made. */
final class RocksDbCursor implements Cursor {

    private final Slice end;
    private final ReadOptions readOptions = new ReadOptions();
    private final RocksIterator iterator;
    private final byte[] from;
    private boolean started;
    private boolean ended;
    private boolean closed;

    RocksDbCursor(RocksDB db, MemorySegment from, MemorySegment to) {
        this.from = from == null ? null : Bytes.array(from);
        this.end = to == null ? null : new Slice(Bytes.array(to));
        if (end != null) {
            readOptions.setIterateUpperBound(end);
        }
        this.iterator = db.newIterator(readOptions);
    }

    @Override
    public boolean next() {
        if (closed || ended) {
            return false;
        }
        if (started) {
            iterator.next();
        } else if (from == null) {
            iterator.seekToFirst();
        } else {
            iterator.seek(from);
        }
        started = true;
        if (iterator.isValid()) {
            return true;
        }
        // To move on from there would crash the process.
        ended = true;
        try {
            iterator.status();
        } catch (RocksDBException e) {
            throw new StorageException("RocksDB cannot go on with a range: " + e.getMessage()
                    + ". See the file LOG in its folder.", e);
        }
        return false;
    }

    @Override
    public MemorySegment key() {
        return MemorySegment.ofArray(iterator.key());
    }

    @Override
    public MemorySegment value() {
        return MemorySegment.ofArray(iterator.value());
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            iterator.close();
            readOptions.close();
            if (end != null) {
                end.close();
            }
        }
    }
}
