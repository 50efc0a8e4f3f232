package lab.storage.memory;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.StampedLock;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageException;
import lab.storage.SteppingCursor;
import lab.storage.StorageStats;
import lab.storage.ValueReader;

/** The engine {@code memory}: a sorted map on the heap, gone when the process ends. */
public final class MemoryStorage implements Storage {

    private final VersionedMap map = new VersionedMap();
    private final AtomicLong lastSequence = new AtomicLong();
    /** Writers share it; a snapshot takes it alone, so that no write with a lower number is still under way. */
    private final StampedLock writes = new StampedLock();
    private final Queue<byte[]> deletedUnderSnapshot = new ConcurrentLinkedQueue<>();
    private final long heapLimitBytes;
    private int snapshots;
    private long newestSnapshot;

    /** Refuses writes when it holds three quarters of the heap, so that the process lives on. */
    public MemoryStorage() {
        this(Runtime.getRuntime().maxMemory() / 4 * 3);
    }

    /**
     * @param heapLimitBytes writes are refused when the entries would take more
     */
    public MemoryStorage(long heapLimitBytes) {
        this.heapLimitBytes = heapLimitBytes;
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        VersionedMap.Version version = map.get(Bytes.array(key));
        if (version == null || version.value() == null) {
            return false;
        }
        reader.accept(MemorySegment.ofArray(version.value()));
        return true;
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        byte[] keyBytes = Bytes.array(key);
        byte[] valueBytes = Bytes.array(value);
        checkRoom(VersionedMap.entryBytes(keyBytes, valueBytes));
        long stamp = writes.readLock();
        try {
            map.put(keyBytes, valueBytes, lastSequence.incrementAndGet(), newestSnapshot);
        } finally {
            writes.unlockRead(stamp);
        }
    }

    private void checkRoom(long bytes) {
        if (map.sizeBytes() + bytes > heapLimitBytes) {
            throw new StorageException("The memory engine is full: it holds " + map.sizeBytes() + " of at most "
                    + heapLimitBytes + " bytes. Give the JVM a larger -Xmx or choose --engine lsm.");
        }
    }

    @Override
    public void delete(MemorySegment key) {
        byte[] bytes = Bytes.array(key);
        long stamp = writes.readLock();
        try {
            if (map.get(bytes) == null) {
                return;
            }
            map.put(bytes, null, lastSequence.incrementAndGet(), newestSnapshot);
            if (snapshots > 0) {
                deletedUnderSnapshot.add(bytes);
            } else {
                removeIfDeleted(bytes);
            }
        } finally {
            writes.unlockRead(stamp);
        }
    }

    private void removeIfDeleted(byte[] key) {
        VersionedMap.Version newest = map.get(key);
        if (newest != null && newest.value() == null) {
            map.remove(key, newest);
        }
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return new SnapshotCursor(new VersionedCursor(map, from == null ? null : Bytes.array(from),
                to == null ? null : Bytes.array(to), openSnapshot()));
    }

    /** Returns the number of the last write that the snapshot sees. */
    private long openSnapshot() {
        long stamp = writes.writeLock();
        try {
            snapshots++;
            newestSnapshot = lastSequence.get();
            return newestSnapshot;
        } finally {
            writes.unlockWrite(stamp);
        }
    }

    private void releaseSnapshot() {
        long stamp = writes.writeLock();
        try {
            if (--snapshots == 0) {
                newestSnapshot = 0;
                for (byte[] key; (key = deletedUnderSnapshot.poll()) != null; ) {
                    removeIfDeleted(key);
                }
            }
        } finally {
            writes.unlockWrite(stamp);
        }
    }

    @Override
    public void flush() {
        // Nothing lies anywhere but in memory.
    }

    @Override
    public String engine() {
        return "memory";
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("heap_limit_bytes", heapLimitBytes);
    }

    @Override
    public StorageStats stats() {
        return new StorageStats(map.count(), map.sizeBytes(), 0, 0);
    }

    @Override
    public void close() {
        // The heap is given back with the object.
    }

    private final class SnapshotCursor implements SteppingCursor {

        private VersionedCursor entries;

        SnapshotCursor(VersionedCursor entries) {
            this.entries = entries;
        }

        @Override
        public Step step() {
            if (entries == null || !entries.next()) {
                return Step.END;
            }
            return entries.value() == null ? Step.PASSED : Step.ENTRY;
        }

        @Override
        public MemorySegment key() {
            return MemorySegment.ofArray(entries.key());
        }

        @Override
        public MemorySegment value() {
            return MemorySegment.ofArray(entries.value());
        }

        @Override
        public void close() {
            if (entries != null) {
                entries = null;
                releaseSnapshot();
            }
        }
    }
}
