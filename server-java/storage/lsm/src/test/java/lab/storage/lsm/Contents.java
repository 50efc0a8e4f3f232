package lab.storage.lsm;

import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntFunction;
import lab.storage.Bytes;
import lab.storage.Cursor;

/** What a store shows, compared with the entries that it has after a number of writes. */
final class Contents {

    private Contents() {
    }

    /** Reads all of it. */
    static SortedMap<String, String> of(LsmStorage storage) {
        SortedMap<String, String> shown = new TreeMap<>();
        try (Cursor cursor = storage.range(null, null)) {
            while (cursor.next()) {
                shown.put(Bytes.text(cursor.key()), Bytes.text(cursor.value()));
            }
        }
        return shown;
    }

    /**
     * After how many writes a store is like this, at least and at most so many; -1 if it never is.
     *
     * @param state gives the entries that it has after a number of writes
     */
    static int writes(SortedMap<String, String> shown, IntFunction<SortedMap<String, String>> state, int atLeast,
            int atMost) {
        for (int writes = atMost; writes >= atLeast; writes--) {
            if (state.apply(writes).equals(shown)) {
                return writes;
            }
        }
        return -1;
    }
}
