package lab.storage.rocksdb;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.StorageException;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;

/**
 * Walks over a range of a RocksDB snapshot; the iterator takes one of its own when it is made. Keys and values pass
 * through direct buffers, which are this cursor's until it is closed.
 *
 * <p>A step goes to the next entry, over however many deletes: RocksDB passes them within one call. The option that bounds
 * such a call ({@code max_skippable_internal_keys}) ends the iterator without the key at which it stopped, so that there is
 * nowhere to go on from.
 */
final class RocksDbCursor implements Cursor {

    private final DirectBuffers buffers;
    private final RocksIterator iterator;
    private final MemorySegment from;
    /** Null without an end. */
    private final Slice end;
    private final ReadOptions bounded;
    private boolean started;
    private boolean ended;
    private boolean closed;

    /**
     * @param unbounded options of a range without an end
     * @param buffers   given back when the cursor is closed
     */
    RocksDbCursor(RocksDB db, ReadOptions unbounded, DirectBuffers buffers, MemorySegment from, MemorySegment to) {
        this.buffers = buffers;
        this.from = from;
        this.end = to == null ? null : new Slice(Bytes.array(to));
        this.bounded = to == null ? null : new ReadOptions(unbounded).setIterateUpperBound(end);
        this.iterator = db.newIterator(to == null ? unbounded : bounded);
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
        } else if (DirectBuffers.takes(from)) {
            iterator.seek(buffers.key(from));
        } else {
            iterator.seek(Bytes.array(from));
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
            throw new StorageException("RocksDB cannot continue a range: " + e.getMessage()
                    + ". See the file LOG in its folder.", e);
        }
        return false;
    }

    @Override
    public MemorySegment key() {
        ByteBuffer buffer = buffers.emptyKey(0);
        int length = iterator.key(buffer);
        if (length > buffer.capacity()) {
            return MemorySegment.ofArray(iterator.key());
        }
        return MemorySegment.ofBuffer(buffer);
    }

    @Override
    public MemorySegment value() {
        ByteBuffer buffer = buffers.emptyValue(0);
        int length = iterator.value(buffer);
        if (length <= buffer.capacity()) {
            return MemorySegment.ofBuffer(buffer);
        }
        if (length > DirectBuffers.LARGEST_BYTES) {
            return MemorySegment.ofArray(iterator.value());
        }
        buffer = buffers.emptyValue(length);
        iterator.value(buffer);
        return MemorySegment.ofBuffer(buffer);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            iterator.close();
            if (end != null) {
                bounded.close();
                end.close();
            }
            buffers.giveBack();
        }
    }
}
