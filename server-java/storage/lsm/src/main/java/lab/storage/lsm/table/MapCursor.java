package lab.storage.lsm.table;

import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.Map;
import java.util.SortedMap;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;

/** Walks over a sorted map as if it were a table; a null value is a delete. */
public class MapCursor implements EntryCursor {

    private final Iterator<Map.Entry<byte[], byte[]>> entries;
    private Map.Entry<byte[], byte[]> current;

    /** Begins before the first entry. */
    public MapCursor(SortedMap<byte[], byte[]> map) {
        this.entries = map.entrySet().iterator();
    }

    @Override
    public boolean next() {
        current = entries.hasNext() ? entries.next() : null;
        return current != null;
    }

    @Override
    public byte[] key() {
        return current.getKey();
    }

    @Override
    public int keyLength() {
        return current.getKey().length;
    }

    @Override
    public long prefix() {
        return Keys.prefix(current.getKey(), 0, current.getKey().length);
    }

    @Override
    public MemorySegment valueSegment() {
        return current.getValue() == null ? null : MemorySegment.ofArray(current.getValue());
    }

    @Override
    public long valueOffset() {
        return 0;
    }

    @Override
    public int valueLength() {
        return current.getValue() == null ? TOMBSTONE : current.getValue().length;
    }
}
