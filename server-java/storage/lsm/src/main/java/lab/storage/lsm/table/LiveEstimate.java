package lab.storage.lsm.table;

import java.util.List;
import lab.storage.StorageException;
import lab.storage.lsm.entry.Keys;

/**
 * Estimates how many of the keys in a new table are in older tables too, by asking those for a sample. From
 * it follow the number of live keys and the share of dead bytes, without reading anything.
 */
public final class LiveEstimate {

    /** All of the first keys are asked for, then one in sixteen. */
    private static final int ALL_BELOW = 1024;
    private static final int SAMPLE_MASK = 15;

    private final List<Run> older;
    private final Lookup lookup = new Lookup();
    private long keys;
    private long asked;
    private long askedOld;
    private long keysBeforeSampling;
    private long oldBeforeSampling;

    /**
     * @param older runs that the caller holds as long as it uses this object
     */
    public LiveEstimate(List<Run> older) {
        this.older = older;
    }

    /** Counts a key, and looks for it if it belongs to the sample. */
    void add(byte[] key, int length, long hash) {
        keys++;
        if (older.isEmpty()) {
            return;
        }
        if (keys <= ALL_BELOW) {
            keysBeforeSampling++;
            oldBeforeSampling += isOld(key, length, hash) ? 1 : 0;
        } else if ((hash & SAMPLE_MASK) == 0) {
            asked++;
            askedOld += isOld(key, length, hash) ? 1 : 0;
        }
    }

    private boolean isOld(byte[] key, int length, long hash) {
        return contains(older, lookup, key, length, hash);
    }

    /** Whether one of some runs probably has a key. */
    public static boolean contains(List<Run> runs, Lookup lookup, byte[] key, int length, long hash) {
        lookup.key = key;
        lookup.keyLength = length;
        lookup.hash = hash;
        lookup.prefix = Keys.prefix(key, 0, length);
        for (int i = 0; i < runs.size(); i++) {
            try {
                if (runs.get(i).mayContain(lookup)) {
                    return true;
                }
            } catch (StorageException e) {
                // An estimate; whoever wants the entry itself learns that it cannot be read.
            }
        }
        return false;
    }

    /** Keys that older tables have too, as far as the sample tells. */
    long old() {
        return oldBeforeSampling + (asked == 0 ? 0 : (keys - keysBeforeSampling) * askedOld / asked);
    }
}
