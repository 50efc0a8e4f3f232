package lab.storage.lsm.memtable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;

/**
 * The bytes of a memtable: one node for each key, from which the key's versions hang, newest first.
 *
 * <pre>
 * node    = prefix:u64 hash:u32 next_in_chain:u32 version:u32 shape:u32 link[height] key
 * shape   = height:8 is_deleted:1 key_length:23
 * link    = next:u32 prefix_of_next:u64
 * version = sequence:u64 value_length:u32 older:u32 value
 * </pre>
 *
 * References count in units of eight bytes; 0 is none. A reference is published last, once all that it leads to is
 * written, so readers need no lock. The prefix in a link is for the writer alone: with it, it sees that the next node is
 * too far without touching that node's line of the cache; so is the bit that says whether the newest version is a delete.
 */
final class Nodes {

    static final int MAX_HEIGHT = 12;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfLong LINK_LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final VarHandle REFERENCE = INT.varHandle();
    private static final int UNIT_SHIFT = 3;
    private static final long UNIT = 1L << UNIT_SHIFT;
    private static final int HASH = 8;
    private static final int CHAIN = 12;
    private static final int VERSION = 16;
    private static final int SHAPE = 20;
    private static final int LINKS = 24;
    private static final int LINK_BYTES = 12;
    private static final int LINK_PREFIX = 4;
    private static final int HEIGHT_SHIFT = 24;
    private static final int DELETED = 1 << 23;
    private static final int LENGTH_MASK = DELETED - 1;
    private static final int VERSION_LENGTH = 8;
    private static final int VERSION_OLDER = 12;
    private static final int VERSION_BYTES = 16;

    private final MemorySegment data;

    Nodes(MemorySegment data) {
        this.data = data;
    }

    /** Bytes of a node that has links alone, with which a list begins. */
    static long headBytes() {
        return aligned(LINKS + MAX_HEIGHT * LINK_BYTES);
    }

    /** Most bytes that a node and a version with such a key and value take. */
    static long mostBytes(int keyLength, int valueLength) {
        return LINKS + MAX_HEIGHT * LINK_BYTES + VERSION_BYTES + 2 * UNIT + keyLength + Math.max(0, valueLength);
    }

    /** Bytes that they usually take: most nodes have one link. */
    static long usualBytes(int keyLength, int valueLength) {
        return aligned(LINKS + LINK_BYTES + keyLength) + aligned(VERSION_BYTES + Math.max(0, valueLength));
    }

    MemorySegment data() {
        return data;
    }

    /**
     * Writes a node, without its links, and its first version; nothing leads to it yet.
     *
     * @param value null for a delete
     * @return byte after it
     */
    long writeNode(long at, int height, byte[] key, long hash, long prefix, MemorySegment value, long sequence) {
        long keyAt = at + LINKS + (long) height * LINK_BYTES;
        data.set(LONG, at, prefix);
        data.set(INT, at + HASH, tag(hash));
        data.set(INT, at + SHAPE, shape(height << HEIGHT_SHIFT | key.length, value));
        MemorySegment.copy(key, 0, data, ValueLayout.JAVA_BYTE, keyAt, key.length);
        long version = aligned(keyAt + key.length);
        data.set(INT, at + VERSION, reference(version));
        return writeVersion(version, value, sequence, 0);
    }

    /**
     * Puts a version before those that a key has.
     *
     * @param value null for a delete
     * @return byte after it
     */
    long addVersion(long node, long at, MemorySegment value, long sequence) {
        long after = writeVersion(at, value, sequence, data.get(INT, node + VERSION));
        REFERENCE.setRelease(data, node + VERSION, reference(at));
        int shape = data.get(INT, node + SHAPE);
        int next = shape(shape, value);
        if (next != shape) {
            // What readers take from it stays as it was.
            data.set(INT, node + SHAPE, next);
        }
        return after;
    }

    private static int shape(int shape, MemorySegment value) {
        return value == null ? shape | DELETED : shape & ~DELETED;
    }

    private long writeVersion(long at, MemorySegment value, long sequence, int older) {
        int length = value == null ? EntryCursor.TOMBSTONE : (int) value.byteSize();
        data.set(LONG, at, sequence);
        data.set(INT, at + VERSION_LENGTH, length);
        data.set(INT, at + VERSION_OLDER, older);
        if (length > 0) {
            MemorySegment.copy(value, 0, data, at + VERSION_BYTES, length);
        }
        return aligned(at + VERSION_BYTES + Math.max(0, length));
    }

    /** The newest version of a node that a snapshot sees; 0 if there is none. */
    long versionAt(long node, long sequence) {
        long version = offset((int) REFERENCE.getAcquire(data, node + VERSION));
        while (version != 0 && data.get(LONG, version) > sequence) {
            version = offset(data.get(INT, version + VERSION_OLDER));
        }
        return version;
    }

    /** For the writer: whether the newest version of a node is a delete. */
    boolean isDeleted(long node) {
        return (data.get(INT, node + SHAPE) & DELETED) != 0;
    }

    /** The node after a node on a level; 0 if there is none. */
    long next(long node, int level) {
        return offset((int) REFERENCE.getAcquire(data, link(node, level)));
    }

    /** For the writer: {@link #prefix} of the node that {@link #next} gives, where there is one. */
    long nextPrefix(long node, int level) {
        return data.get(LINK_LONG, link(node, level) + LINK_PREFIX);
    }

    /** For the writer: puts a node after another one on a level. */
    void insert(long node, long prefix, long before, int level) {
        long from = link(before, level);
        long to = link(node, level);
        data.set(INT, to, data.get(INT, from));
        data.set(LINK_LONG, to + LINK_PREFIX, data.get(LINK_LONG, from + LINK_PREFIX));
        data.set(LINK_LONG, from + LINK_PREFIX, prefix);
        REFERENCE.setRelease(data, from, reference(node));
    }

    private static long link(long node, int level) {
        return node + LINKS + (long) level * LINK_BYTES;
    }

    /** Order of a node's key and another one: negative, zero or positive. */
    int compare(long node, byte[] key, int keyLength, long prefix) {
        long own = data.get(LONG, node);
        return own != prefix ? Long.compareUnsigned(own, prefix) : compareWhole(node, key, keyLength);
    }

    /** The same without looking at the prefixes first. */
    int compareWhole(long node, byte[] key, int keyLength) {
        return Keys.compare(data, keyOffset(node), keyLength(node), key, 0, keyLength);
    }

    /** The node of a key in a chain of nodes; 0 if it is not there. */
    long inChain(long bucket, byte[] key, int keyLength, long hash, long prefix) {
        int tag = tag(hash);
        long node = offset((int) REFERENCE.getAcquire(data, bucket));
        while (node != 0) {
            if (data.get(INT, node + HASH) == tag && data.get(LONG, node) == prefix
                    && compareWhole(node, key, keyLength) == 0) {
                return node;
            }
            node = offset(data.get(INT, node + CHAIN));
        }
        return 0;
    }

    /** For the writer: writes into a new node what follows it in its chain. */
    void prepareChain(long node, long bucket) {
        data.set(INT, node + CHAIN, data.get(INT, bucket));
    }

    /** For the writer: makes a node the first of its chain. */
    void beginChain(long node, long bucket) {
        REFERENCE.setRelease(data, bucket, reference(node));
    }

    /** First eight bytes of a node's key, as {@link Keys#prefix} gives them. */
    long prefix(long node) {
        return data.get(LONG, node);
    }

    int keyLength(long node) {
        return data.get(INT, node + SHAPE) & LENGTH_MASK;
    }

    long keyOffset(long node) {
        return link(node, data.get(INT, node + SHAPE) >>> HEIGHT_SHIFT);
    }

    long valueOffset(long version) {
        return version + VERSION_BYTES;
    }

    /** {@link EntryCursor#TOMBSTONE} for a delete. */
    int valueLength(long version) {
        return data.get(INT, version + VERSION_LENGTH);
    }

    /** The half of a hash that does not choose the chain. */
    private static int tag(long hash) {
        return (int) (hash >>> Integer.SIZE);
    }

    private static long offset(int reference) {
        return Integer.toUnsignedLong(reference) << UNIT_SHIFT;
    }

    private static int reference(long offset) {
        return (int) (offset >>> UNIT_SHIFT);
    }

    /** The next offset that a reference can name. */
    static long aligned(long offset) {
        return offset + UNIT - 1 & -UNIT;
    }
}
