package lab.storage.lsm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * The writes that are not in tables yet, sorted, outside the heap: so they cost the collector nothing, and their bytes
 * are what they take.
 *
 * <p>A node for each key hangs in a skip list (Pugh, 1990) for order and in a hash chain for lookups; from it hang the
 * key's versions, newest first. Nothing is ever changed or freed but the references that lead to new nodes and versions,
 * so readers need no lock and a snapshot finds what it saw. One thread writes at a time.
 *
 * <pre>
 * node    = prefix:u64 hash:u32 next_in_chain:u32 version:u32 height_and_key_length:u32 next:u32[height] key
 * version = sequence:u64 value_length:u32 older:u32 value
 * </pre>
 *
 * References count in units of eight bytes; 0 is none.
 *
 * <p>Life cycle: made with one reference; the one that gives the last reference back hands it to the disposer, which calls
 * {@link #end()}. A segment of it used later throws instead of showing other bytes.
 */
final class Memtable {

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final VarHandle REFERENCE = INT.varHandle();
    private static final int UNIT_SHIFT = 3;
    private static final long UNIT = 1L << UNIT_SHIFT;
    private static final int NODE_HASH = 8;
    private static final int NODE_CHAIN = 12;
    private static final int NODE_VERSION = 16;
    private static final int NODE_LENGTH = 20;
    private static final int NODE_NEXT = 24;
    private static final int HEIGHT_SHIFT = 24;
    private static final int LENGTH_MASK = (1 << HEIGHT_SHIFT) - 1;
    private static final int VERSION_LENGTH = 8;
    private static final int VERSION_OLDER = 12;
    private static final int VERSION_BYTES = 16;
    private static final int MAX_HEIGHT = 12;
    private static final int HASH_SHIFT = 20;
    private static final int BYTES_A_BUCKET = 128;
    private static final int FEWEST_BUCKETS = 64;
    private static final int ALL_SAMPLED = 1024;
    private static final int SAMPLE_MASK = 15;

    private final NativeMemory memory;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment data;
    private final Consumer<Memtable> disposer;
    private final AtomicInteger references = new AtomicInteger(1);
    private final int bucketMask;
    private final long head;
    private final long start;
    private final long thresholdBytes;
    private final long[] before = new long[MAX_HEIGHT];
    /** How many of a sample of its keys were looked for in tables, and found. */
    private final LongAdder asked = new LongAdder();
    private final LongAdder askedOld = new LongAdder();
    private long firstLog;
    private int height = 1;
    private int random = 0x2545f491;
    // Written by the one writer; those who ask without its lock can do with a figure of a moment ago.
    private long end;
    private long count;
    private long tombstones;

    /**
     * @param memory         {@link #capacity} bytes, of which the first ones are made zero here
     * @param thresholdBytes it is full when its entries take this much; an empty one takes any entry
     * @param firstLog       number of the oldest log that holds what will be in it
     * @param disposer       told when nobody uses it any more
     */
    Memtable(NativeMemory memory, long thresholdBytes, long firstLog, Consumer<Memtable> disposer) {
        this.memory = memory;
        this.thresholdBytes = thresholdBytes;
        this.firstLog = firstLog;
        this.disposer = disposer;
        this.data = memory.during(arena);
        int buckets = buckets(thresholdBytes);
        this.bucketMask = buckets - 1;
        this.head = (long) buckets * Integer.BYTES;
        this.start = head + NODE_NEXT + MAX_HEIGHT * Integer.BYTES;
        this.end = start;
        data.asSlice(0, start).fill((byte) 0);
    }

    private static int buckets(long thresholdBytes) {
        return Integer.highestOneBit(Math.clamp(thresholdBytes / BYTES_A_BUCKET, FEWEST_BUCKETS, 1 << 28));
    }

    /** Bytes of memory for a memtable: one that is nearly empty takes an entry of any size. */
    static long capacity(long thresholdBytes, long maxKeyBytes, long maxValueBytes) {
        return buckets(thresholdBytes) * (long) Integer.BYTES + NODE_NEXT + MAX_HEIGHT * Integer.BYTES
                + thresholdBytes + bytesFor((int) maxKeyBytes, (int) maxValueBytes);
    }

    /** Most bytes that an entry takes. */
    static long bytesFor(int keyLength, int valueLength) {
        return NODE_NEXT + MAX_HEIGHT * Integer.BYTES + VERSION_BYTES + 2 * UNIT + keyLength
                + Math.max(0, valueLength);
    }

    /** Whether there is room for an entry of so many bytes. */
    boolean fits(long bytes) {
        long taken = end - start;
        return taken == 0 || taken + bytes <= thresholdBytes;
    }

    /**
     * Writes one version. For one thread at a time.
     *
     * @param value    null for a delete
     * @param sequence greater than that of every write before
     * @return whether the key is new here
     */
    boolean put(byte[] key, long hash, MemorySegment value, long sequence) {
        long prefix = Keys.prefix(key, 0, key.length);
        long node = nodeOf(key, key.length, hash, prefix);
        if (node != 0) {
            addVersion(node, value, sequence);
            return false;
        }
        addNode(key, hash, prefix, value, sequence);
        return true;
    }

    private void addVersion(long node, MemorySegment value, long sequence) {
        int older = data.get(INT, node + NODE_VERSION);
        boolean wasDelete = data.get(INT, offset(older) + VERSION_LENGTH) == TableFormat.TOMBSTONE;
        long version = writeVersion(end, value, sequence, older);
        REFERENCE.setRelease(data, node + NODE_VERSION, reference(version));
        if (wasDelete != (value == null)) {
            tombstones += value == null ? 1 : -1;
        }
    }

    private void addNode(byte[] key, long hash, long prefix, MemorySegment value, long sequence) {
        int levels = randomHeight();
        long node = end;
        long keyAt = node + NODE_NEXT + (long) levels * Integer.BYTES;
        long bucket = bucket(hash);
        data.set(LONG, node, prefix);
        data.set(INT, node + NODE_HASH, (int) (hash >>> Integer.SIZE));
        data.set(INT, node + NODE_CHAIN, data.get(INT, bucket));
        data.set(INT, node + NODE_LENGTH, levels << HEIGHT_SHIFT | key.length);
        MemorySegment.copy(key, 0, data, ValueLayout.JAVA_BYTE, keyAt, key.length);
        long version = writeVersion(aligned(keyAt + key.length), value, sequence, 0);
        data.set(INT, node + NODE_VERSION, reference(version));
        findBefore(key, prefix);
        for (int level = height; level < levels; level++) {
            before[level] = head;
        }
        height = Math.max(height, levels);
        int self = reference(node);
        for (int level = 0; level < levels; level++) {
            long link = before[level] + NODE_NEXT + (long) level * Integer.BYTES;
            data.set(INT, node + NODE_NEXT + (long) level * Integer.BYTES, data.get(INT, link));
            REFERENCE.setRelease(data, link, self);
        }
        REFERENCE.setRelease(data, bucket, self);
        count++;
        if (value == null) {
            tombstones++;
        }
    }

    private long writeVersion(long at, MemorySegment value, long sequence, int older) {
        int length = value == null ? TableFormat.TOMBSTONE : (int) value.byteSize();
        data.set(LONG, at, sequence);
        data.set(INT, at + VERSION_LENGTH, length);
        data.set(INT, at + VERSION_OLDER, older);
        if (length > 0) {
            MemorySegment.copy(value, 0, data, at + VERSION_BYTES, length);
        }
        end = aligned(at + VERSION_BYTES + Math.max(0, length));
        return at;
    }

    /** Each level has a quarter of the nodes of the one below it. */
    private int randomHeight() {
        random ^= random << 13;
        random ^= random >>> 17;
        random ^= random << 5;
        return Math.min(MAX_HEIGHT, 1 + Integer.numberOfTrailingZeros(random | 1 << 30) / 2);
    }

    /** Finds, on each level, the last node before a key. */
    private void findBefore(byte[] key, long prefix) {
        long node = head;
        long notBefore = 0;
        for (int level = height - 1; level >= 0; level--) {
            long next = next(node, level);
            while (next != 0 && next != notBefore && compare(next, key, key.length, prefix) < 0) {
                node = next;
                next = next(node, level);
            }
            notBefore = next;
            before[level] = node;
        }
    }

    /** The first node whose key is not smaller; 0 if there is none. */
    long seek(byte[] key) {
        if (key == null) {
            return next(head, 0);
        }
        long prefix = Keys.prefix(key, 0, key.length);
        long node = head;
        long next = 0;
        for (int level = MAX_HEIGHT - 1; level >= 0; level--) {
            next = next(node, level);
            while (next != 0 && compare(next, key, key.length, prefix) < 0) {
                node = next;
                next = next(node, level);
            }
        }
        return next;
    }

    /** The node after a node; 0 if there is none. */
    long next(long node) {
        return next(node, 0);
    }

    private long next(long node, int level) {
        return offset((int) REFERENCE.getAcquire(data, node + NODE_NEXT + (long) level * Integer.BYTES));
    }

    private int compare(long node, byte[] key, int keyLength, long prefix) {
        long own = data.get(LONG, node);
        return own != prefix ? Long.compareUnsigned(own, prefix)
                : Keys.compare(data, keyOffset(node), keyLength(node), key, 0, keyLength);
    }

    private long nodeOf(byte[] key, int keyLength, long hash, long prefix) {
        int tag = (int) (hash >>> Integer.SIZE);
        long node = offset((int) REFERENCE.getAcquire(data, bucket(hash)));
        while (node != 0) {
            if (data.get(INT, node + NODE_HASH) == tag && data.get(LONG, node) == prefix
                    && Keys.compare(data, keyOffset(node), keyLength(node), key, 0, keyLength) == 0) {
                return node;
            }
            node = offset(data.get(INT, node + NODE_CHAIN));
        }
        return 0;
    }

    private long bucket(long hash) {
        return ((int) (hash >>> HASH_SHIFT) & bucketMask) * (long) Integer.BYTES;
    }

    /**
     * Looks a key up; if it was written, also as a delete, tells the lookup where the value lies.
     *
     * @param sequence writes after this one are not seen
     */
    boolean find(Lookup lookup, long sequence) {
        long node = nodeOf(lookup.key, lookup.keyLength, lookup.hash, lookup.prefix);
        long version = node == 0 ? 0 : versionAt(node, sequence);
        if (version == 0) {
            return false;
        }
        lookup.found(data, valueOffset(version), valueLength(version));
        return true;
    }

    /** The newest version of a node that a snapshot sees; 0 if there is none. */
    long versionAt(long node, long sequence) {
        long version = offset((int) REFERENCE.getAcquire(data, node + NODE_VERSION));
        while (version != 0 && data.get(LONG, version) > sequence) {
            version = offset(data.get(INT, version + VERSION_OLDER));
        }
        return version;
    }

    MemorySegment data() {
        return data;
    }

    long prefix(long node) {
        return data.get(LONG, node);
    }

    int keyLength(long node) {
        return data.get(INT, node + NODE_LENGTH) & LENGTH_MASK;
    }

    long keyOffset(long node) {
        return node + NODE_NEXT + (long) (data.get(INT, node + NODE_LENGTH) >>> HEIGHT_SHIFT) * Integer.BYTES;
    }

    long valueOffset(long version) {
        return version + VERSION_BYTES;
    }

    int valueLength(long version) {
        return data.get(INT, version + VERSION_LENGTH);
    }

    private static long offset(int reference) {
        return Integer.toUnsignedLong(reference) << UNIT_SHIFT;
    }

    private static int reference(long offset) {
        return (int) (offset >>> UNIT_SHIFT);
    }

    private static long aligned(long offset) {
        return offset + UNIT - 1 & -UNIT;
    }

    /** Keys, deleted ones included. */
    long count() {
        return count;
    }

    /** Keys whose newest version is a delete. */
    long tombstones() {
        return tombstones;
    }

    /** Whether a new key belongs to the sample that is looked for in tables: each of the first, then one in sixteen. */
    boolean isSampled(long hash) {
        return count <= ALL_SAMPLED || (hash & SAMPLE_MASK) == 0;
    }

    /** Says whether tables have a key of the sample too. */
    void sampled(boolean old) {
        asked.increment();
        if (old) {
            askedOld.increment();
        }
    }

    /** Keys that tables have too, as far as the sample tells. */
    long oldEntries() {
        long all = asked.sum();
        return all == 0 ? 0 : count * askedOld.sum() / all;
    }

    /** Bytes that the entries take, older versions and overhead included. */
    long sizeBytes() {
        return end - start;
    }

    /** How full it is, 1 and more for one that takes no further entry. */
    double fill() {
        return (double) sizeBytes() / thresholdBytes;
    }

    /** Says that a log holds a part of it, before it does. */
    void loggedIn(long log) {
        firstLog = Math.min(firstLog, log);
    }

    /** Number of the oldest log that holds a part of it. */
    long firstLog() {
        return firstLog;
    }

    /** Takes a reference. Only for one who knows that somebody else holds one. */
    void retain() {
        references.getAndIncrement();
    }

    /** Gives a reference back. */
    void release() {
        if (references.decrementAndGet() == 0) {
            disposer.accept(this);
        }
    }

    /** For the disposer: ends the life of every segment of it, and gives its memory. */
    NativeMemory end() {
        long touched = end;
        arena.close();
        long kept = Math.min(memory.byteSize(), start + thresholdBytes + Short.MAX_VALUE & -(Short.MAX_VALUE + 1L));
        if (touched > kept) {
            // A value larger than the threshold: the next memtable will hardly need these pages.
            memory.discard(kept);
        }
        return memory;
    }
}
