package lab.storage.memory;

import java.util.Iterator;
import java.util.Map;

/** Walks over the versions of a {@link VersionedMap} that one snapshot sees, deletes included. */
public final class VersionedCursor {

    private final Iterator<Map.Entry<byte[], VersionedMap.Version>> entries;
    private final long sequence;
    private byte[] key;
    private byte[] value;

    /**
     * @param from     first key, or null
     * @param to       key after the last one, or null
     * @param sequence the last write that the snapshot sees
     */
    public VersionedCursor(VersionedMap map, byte[] from, byte[] to, long sequence) {
        this.entries = map.iterator(from, to);
        this.sequence = sequence;
    }

    /** Moves to the next key that the snapshot sees; false if there is none. */
    public boolean next() {
        while (entries.hasNext()) {
            Map.Entry<byte[], VersionedMap.Version> entry = entries.next();
            VersionedMap.Version version = entry.getValue().asOf(sequence);
            if (version != null) {
                key = entry.getKey();
                value = version.value();
                return true;
            }
        }
        return false;
    }

    /** The current key. */
    public byte[] key() {
        return key;
    }

    /** The current value, or null for a delete. */
    public byte[] value() {
        return value;
    }
}
