package lab.stress.store;

import static lab.storage.Bytes.utf8;

import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;

/**
 * What one writer does, write after write, the same in every process: so its whole state follows from how far it came.
 */
final class Script {

    private static final int KEYS = 300;
    private static final int DELETE_EVERY = 7;
    private static final int LENGTH_MASK = 0x3ff;
    private static final long MULTIPLIER = 0x9e3779b97f4a7c15L;

    private final int writer;

    Script(int writer) {
        this.writer = writer;
    }

    private String key(long write) {
        return "writer" + writer + "/" + (write * MULTIPLIER >>> 1) % KEYS;
    }

    private static boolean isDelete(long write) {
        return write % DELETE_EVERY == 0;
    }

    private static String value(long write) {
        return write + " ".repeat((int) (write * MULTIPLIER >>> 32) & LENGTH_MASK) + "|";
    }

    /** Does the write with this number; the first one is 1. */
    void run(Storage storage, long write) {
        if (isDelete(write)) {
            storage.delete(utf8(key(write)));
        } else {
            storage.put(utf8(key(write)), utf8(value(write)));
        }
    }

    /** Walks back until the last write of every key is known. */
    private Map<String, String> stateAfter(long writes) {
        Map<String, String> state = new TreeMap<>();
        Set<String> known = new HashSet<>();
        for (long write = writes; write >= 1 && known.size() < KEYS; write--) {
            if (known.add(key(write)) && !isDelete(write)) {
                state.put(key(write), value(write));
            }
        }
        return state;
    }

    /**
     * How many writes the store shows: those that were acknowledged, or one more, which was under way.
     *
     * @return -1 if it shows neither, so that a write is lost or a deleted key is back
     */
    long shown(Storage storage, long acknowledged) {
        Map<String, String> shown = new TreeMap<>();
        try (Cursor cursor = storage.range(utf8("writer" + writer + "/"), utf8("writer" + writer + "0"))) {
            while (cursor.next()) {
                shown.put(Bytes.text(cursor.key()), Bytes.text(cursor.value()));
            }
        }
        for (Map.Entry<String, String> entry : shown.entrySet()) {
            byte[] value = storage.get(utf8(entry.getKey()));
            if (value == null || !entry.getValue().equals(Bytes.text(MemorySegment.ofArray(value)))) {
                return -1;
            }
        }
        for (long writes = acknowledged; writes <= acknowledged + 1; writes++) {
            if (stateAfter(writes).equals(shown)) {
                return writes;
            }
        }
        return -1;
    }
}
