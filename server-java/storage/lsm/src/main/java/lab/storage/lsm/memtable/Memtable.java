package lab.storage.lsm.memtable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.memory.NativeMemory;
import lab.storage.lsm.table.Lookup;

/**
 * The writes that are not in tables yet, sorted, outside the heap: so they cost the collector nothing, and their bytes
 * are what they take.
 *
 * <p>A {@linkplain Nodes node} for each key hangs in a {@linkplain SkipList skip list} for order and in a hash chain for
 * lookups; from it hang the key's versions, newest first. Nothing is ever changed or freed but the references that lead to
 * new nodes and versions, so readers need no lock and a snapshot finds what it saw. One thread writes at a time.
 *
 * <p>Life cycle: made with one reference; the one that gives the last reference back hands it to the disposer, which calls
 * {@link #end()}. A segment of it used later throws instead of showing other bytes.
 */
public final class Memtable {

    private static final int HASH_SHIFT = 20;
    private static final int BYTES_A_BUCKET = 128;
    private static final int FEWEST_BUCKETS = 64;
    /** So much of the memory of one that was filled over its threshold is kept for the next one. */
    private static final long KEPT_SLACK_BYTES = 32 * 1024;

    private final NativeMemory memory;
    private final Arena arena = Arena.ofShared();
    private final Nodes nodes;
    private final SkipList order;
    private final Consumer<Memtable> disposer;
    private final AtomicInteger references = new AtomicInteger(1);
    private final int bucketMask;
    private final long start;
    private final long thresholdBytes;
    /** At most the threshold; less when memory is short. */
    private volatile long limitBytes;
    private long firstLog;
    // Written by the one writer; those who ask without its lock can do with a figure of a moment ago.
    private long end;
    private long count;
    private long tombstones;
    private long lastSequence;

    /**
     * @param memory         {@link #capacity} bytes, of which the first ones are made zero here
     * @param thresholdBytes it is full when its entries take this much; an empty one takes any entry
     * @param firstLog       number of the oldest log that holds what will be in it
     * @param disposer       called when nobody uses it any more
     */
    public Memtable(NativeMemory memory, long thresholdBytes, long firstLog, Consumer<Memtable> disposer) {
        this.memory = memory;
        this.thresholdBytes = thresholdBytes;
        this.limitBytes = thresholdBytes;
        this.firstLog = firstLog;
        this.disposer = disposer;
        this.nodes = new Nodes(memory.during(arena));
        int buckets = buckets(thresholdBytes);
        this.bucketMask = buckets - 1;
        long head = (long) buckets * Integer.BYTES;
        this.order = new SkipList(nodes, head);
        this.start = head + Nodes.headBytes();
        this.end = start;
        nodes.data().asSlice(0, start).fill((byte) 0);
    }

    private static int buckets(long thresholdBytes) {
        return Integer.highestOneBit(Math.clamp(thresholdBytes / BYTES_A_BUCKET, FEWEST_BUCKETS, 1 << 28));
    }

    /** Bytes of memory for a memtable: one that is nearly empty takes an entry of any size. */
    public static long capacity(long thresholdBytes, long maxKeyBytes, long maxValueBytes) {
        return buckets(thresholdBytes) * (long) Integer.BYTES + Nodes.headBytes() + thresholdBytes
                + bytesFor((int) maxKeyBytes, (int) maxValueBytes);
    }

    /** Most bytes that an entry takes. */
    public static long bytesFor(int keyLength, int valueLength) {
        return Nodes.mostBytes(keyLength, valueLength);
    }

    /** Bytes that an entry usually takes. */
    public static long usualBytes(int keyLength, int valueLength) {
        return Nodes.usualBytes(keyLength, valueLength);
    }

    /** Whether there is room for an entry of so many bytes. */
    public boolean fits(long bytes) {
        long taken = end - start;
        return taken == 0 || taken + bytes <= limitBytes;
    }

    /**
     * Writes one version. For one thread at a time.
     *
     * @param value    null for a delete
     * @param sequence greater than that of every write before
     * @return whether the key is new here
     */
    public boolean put(byte[] key, long hash, MemorySegment value, long sequence) {
        lastSequence = sequence;
        long prefix = Keys.prefix(key, 0, key.length);
        long bucket = bucket(hash);
        long node = nodes.inChain(bucket, key, key.length, hash, prefix);
        if (node != 0) {
            boolean wasDelete = nodes.isDeleted(node);
            end = nodes.addVersion(node, end, value, sequence);
            if (wasDelete != (value == null)) {
                tombstones += value == null ? 1 : -1;
            }
            return false;
        }
        addNode(key, hash, prefix, bucket, value, sequence);
        return true;
    }

    private void addNode(byte[] key, long hash, long prefix, long bucket, MemorySegment value, long sequence) {
        int height = order.nextHeight();
        long node = end;
        end = nodes.writeNode(node, height, key, hash, prefix, value, sequence);
        nodes.prepareChain(node, bucket);
        order.insert(node, height, key, prefix);
        nodes.beginChain(node, bucket);
        count++;
        if (value == null) {
            tombstones++;
        }
    }

    private long bucket(long hash) {
        return ((int) (hash >>> HASH_SHIFT) & bucketMask) * (long) Integer.BYTES;
    }

    /**
     * Looks a key up; if it was written, also as a delete, tells the lookup where the value lies.
     *
     * @param sequence writes after this one are not seen
     */
    public boolean find(Lookup lookup, long sequence) {
        long node = nodes.inChain(bucket(lookup.hash), lookup.key, lookup.keyLength, lookup.hash, lookup.prefix);
        long version = node == 0 ? 0 : nodes.versionAt(node, sequence);
        if (version == 0) {
            return false;
        }
        lookup.found(nodes.data(), nodes.valueOffset(version), nodes.valueLength(version));
        return true;
    }

    /** The first node whose key is not smaller, or with null the first of all; 0 if there is none. */
    long seek(byte[] key) {
        return order.seek(key);
    }

    /** What a node consists of. */
    Nodes nodes() {
        return nodes;
    }

    /** Keys, deleted ones included. */
    public long count() {
        return count;
    }

    /** Keys whose newest version is a delete. */
    public long tombstones() {
        return tombstones;
    }

    /** Number of the last write in it; 0 if there is none. */
    public long lastSequence() {
        return lastSequence;
    }

    /**
     * Counts the keys that a test says yes to: exactly up to 1,024 keys, and from a sample of at least as many where there
     * are more.
     */
    public long estimate(KeyTest test) {
        return Math.round(count * order.share(test));
    }

    /** Says something of a key. */
    public interface KeyTest {
        /**
         * Tests a key.
         *
         * @param key array that starts with the key
         */
        boolean holds(byte[] key, int keyLength);
    }

    /** Bytes that the entries take, older versions and overhead included. */
    public long sizeBytes() {
        return end - start;
    }

    /** How full it is, 1 and more for one that takes no further entry. */
    public double fill() {
        return (double) sizeBytes() / limitBytes;
    }

    /** Makes it full at so many bytes, at most its threshold. */
    public void limit(long bytes) {
        limitBytes = Math.min(bytes, thresholdBytes);
    }

    /** Bytes of memory that it has. */
    public long touchedBytes() {
        return memory.touchedBytes();
    }

    /** Whether it is time to {@link #touchAhead()}; asking costs nothing. */
    public boolean runsLow() {
        return memory.runsLow(end, start + limitBytes);
    }

    /** Has the kernel give the pages that come next, so that the writer need not wait for it. */
    public void touchAhead() {
        memory.touchAhead(end, start + limitBytes);
    }

    /** Says that a log holds a part of it, before it does. */
    public void loggedIn(long log) {
        firstLog = Math.min(firstLog, log);
    }

    /** Number of the oldest log that holds a part of it. */
    public long firstLog() {
        return firstLog;
    }

    /** Takes a reference. Only for one who knows that somebody else holds one. */
    public void retain() {
        references.getAndIncrement();
    }

    /** Gives a reference back. */
    public void release() {
        if (references.decrementAndGet() == 0) {
            disposer.accept(this);
        }
    }

    /** For the disposer: ends the life of every segment of it, and gives its memory. */
    public NativeMemory end() {
        memory.used(end);
        arena.close();
        long kept = Math.min(memory.byteSize(), start + thresholdBytes + KEPT_SLACK_BYTES - 1 & -KEPT_SLACK_BYTES);
        if (end > kept) {
            // A value larger than the threshold: the next memtable will hardly need these pages.
            memory.discard(kept);
        }
        return memory;
    }
}
