package lab.storage.lsm.memtable;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;

/**
 * Walks over a memtable as a snapshot sees it. Holds a reference to it until it is closed.
 */
public final class MemtableCursor implements EntryCursor {

    private static final int FIRST_KEY_BYTES = 64;

    private final Memtable memtable;
    private final Nodes nodes;
    private final long sequence;
    private final byte[] to;
    private long nextNode;
    private long version;
    private long prefix;
    private byte[] key = new byte[FIRST_KEY_BYTES];
    private int keyLength;
    private long passed;

    /**
     * @param from     first key, or null
     * @param to       key after the last one, or null
     * @param sequence the last write that is seen
     */
    public MemtableCursor(Memtable memtable, byte[] from, byte[] to, long sequence) {
        this.memtable = memtable;
        this.nodes = memtable.nodes();
        this.sequence = sequence;
        this.to = to;
        memtable.retain();
        this.nextNode = memtable.seek(from);
    }

    @Override
    public boolean next() {
        while (nextNode != 0) {
            long node = nextNode;
            passed++;
            version = nodes.versionAt(node, sequence);
            nextNode = nodes.next(node, 0);
            if (version == 0) {
                continue;
            }
            keyLength = nodes.keyLength(node);
            if (keyLength > key.length) {
                key = new byte[keyLength * 2];
            }
            Keys.copy(nodes.data(), nodes.keyOffset(node), key, 0, keyLength);
            prefix = nodes.prefix(node);
            if (to != null && Arrays.compareUnsigned(key, 0, keyLength, to, 0, to.length) >= 0) {
                nextNode = 0;
                return false;
            }
            return true;
        }
        return false;
    }

    /** Share of the memtable's keys that it has passed. */
    public double passedShare() {
        return (double) passed / Math.max(1, memtable.count());
    }

    /** Memory that this cursor keeps. */
    public Memtable memtable() {
        return memtable;
    }

    @Override
    public byte[] key() {
        return key;
    }

    @Override
    public int keyLength() {
        return keyLength;
    }

    @Override
    public long prefix() {
        return prefix;
    }

    @Override
    public MemorySegment valueSegment() {
        return valueLength() == EntryCursor.TOMBSTONE ? null : nodes.data();
    }

    @Override
    public long valueOffset() {
        return nodes.valueOffset(version);
    }

    @Override
    public int valueLength() {
        return nodes.valueLength(version);
    }

    @Override
    public long bufferBytes() {
        return key.length;
    }

    @Override
    public void close() {
        memtable.release();
    }
}
