package lab.storage.leveldb;

/** How LevelDB is set. Without compression in either case. */
public enum LevelDbSettings {
    /** The defaults of the library, as report 3 ran it: memtables of 4 MiB. */
    PUBLISHED("published", 4 << 20),
    /** Memtables of 16 MiB, so that fewer bytes are written again by compaction; two are held at most. */
    TUNED("tuned", 16 << 20);

    private final String label;
    private final int writeBufferBytes;

    LevelDbSettings(String label, int writeBufferBytes) {
        this.label = label;
        this.writeBufferBytes = writeBufferBytes;
    }

    int writeBufferBytes() {
        return writeBufferBytes;
    }

    @Override
    public String toString() {
        return label;
    }
}
