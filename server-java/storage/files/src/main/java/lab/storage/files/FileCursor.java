package lab.storage.files;

import java.util.List;

/** Walks over the keys of a {@link KeyFiles} as they were when it was opened. */
public final class FileCursor implements AutoCloseable {

    private final KeyFiles store;
    private final List<byte[]> keys;
    private final long snapshot;
    private int at = -1;
    private boolean closed;

    FileCursor(KeyFiles store, List<byte[]> keys, long snapshot) {
        this.store = store;
        this.keys = keys;
        this.snapshot = snapshot;
    }

    /** Moves to the next key; false if there is none. */
    public boolean next() {
        if (closed || at + 1 >= keys.size()) {
            return false;
        }
        at++;
        return true;
    }

    /** The current key. */
    public byte[] key() {
        return keys.get(at);
    }

    /** Reads the value of the current key. */
    public byte[] value() {
        return store.get(keys.get(at), snapshot);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            store.release(snapshot);
        }
    }
}
