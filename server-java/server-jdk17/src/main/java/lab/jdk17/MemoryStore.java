package lab.jdk17;

import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/** A sorted map on the heap. A range sees what is written while it runs, or does not. */
final class MemoryStore implements Store {

    private final ConcurrentSkipListMap<byte[], byte[]> map = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);

    @Override
    public byte[] get(byte[] key) {
        return map.get(key);
    }

    @Override
    public void put(byte[] key, byte[] value) {
        map.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
        map.remove(key);
    }

    @Override
    public Entries range(byte[] from, byte[] to) {
        ConcurrentNavigableMap<byte[], byte[]> part = to == null ? map.tailMap(from, true)
                : Arrays.compareUnsigned(from, to) < 0 ? map.subMap(from, true, to, false) : new ConcurrentSkipListMap<>();
        Iterator<Map.Entry<byte[], byte[]>> entries = part.entrySet().iterator();
        return new Entries() {
            private Map.Entry<byte[], byte[]> entry;

            @Override
            public boolean next() {
                entry = entries.hasNext() ? entries.next() : null;
                return entry != null;
            }

            @Override
            public byte[] key() {
                return entry.getKey();
            }

            @Override
            public byte[] value() {
                return entry.getValue();
            }

            @Override
            public void close() {
                // Holds nothing.
            }
        };
    }

    @Override
    public long count() {
        return map.size();
    }

    @Override
    public long diskBytes() {
        return 0;
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("snapshots", false);
    }

    @Override
    public void close() {
        // The heap is given back with the object.
    }
}
