package lab.storage.lsm;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import lab.storage.EntryTooLargeException;
import lab.storage.StorageException;

/**
 * The way of a write: into the log, into the memtable, and, if the log is synced, to the disk. One writer at a time is in
 * the lock, which is held for less than a microsecond; waiting is done outside it.
 */
final class WritePath {

    private final Tree tree;
    private final LsmOptions options;
    private final Counters counters;
    private final Throttle throttle;
    private final Spares spares;
    private final boolean sync;
    private final WriteLock lock = new WriteLock();

    // Under the lock.
    private Memtable active;
    private volatile Log log;
    private long lastSequence;

    /** The log before this one, until it is not needed any more. */
    private volatile Log previousLog;
    /** The last write that a snapshot sees. */
    private final AtomicLong visible = new AtomicLong();

    /**
     * @param active       memtable that takes the first writes
     * @param first        log of them; null if there is none
     * @param lastSequence number of the last write before
     */
    WritePath(Tree tree, LsmOptions options, Counters counters, Throttle throttle, Spares spares, Memtable active,
            Log first, long lastSequence) {
        this.tree = tree;
        this.options = options;
        this.counters = counters;
        this.throttle = throttle;
        this.spares = spares;
        this.sync = options.wal() == LsmOptions.Wal.SYNC;
        this.active = active;
        this.log = first;
        this.lastSequence = lastSequence;
        this.visible.set(lastSequence);
        if (first != null) {
            active.loggedIn(first.number());
            first.begin(lastSequence + 1);
        }
    }

    /** The log in use; null if there is none. */
    Log log() {
        return log;
    }

    /** The last write that a snapshot sees. */
    long visible() {
        return visible.get();
    }

    /** The last write that a read sees. Only with a synced log writes are there before they may be seen. */
    long readable() {
        return sync ? visible.get() : Long.MAX_VALUE;
    }

    /** Writes one version, after waiting for room. A null value is a delete. */
    void write(byte[] key, MemorySegment value) {
        int valueLength = value == null ? TableFormat.TOMBSTONE : (int) Math.min(value.byteSize(), Integer.MAX_VALUE);
        check(key, valueLength);
        long bytes = Memtable.bytesFor(key.length, valueLength);
        long recordBytes = LogFormat.recordBytes(key.length, valueLength);
        long hash = Keys.hash(key, key.length);
        throttle.pass(Nodes.usualBytes(key.length, valueLength));
        while (true) {
            Memtable target;
            Log used;
            boolean done = false;
            boolean isNew = false;
            long end = 0;
            lock.lock();
            try {
                target = active;
                used = log;
                if (target.fits(bytes) && (used == null || used.fits(recordBytes))) {
                    end = used == null ? 0 : append(used, key, value);
                    isNew = target.put(key, hash, value, ++lastSequence);
                    counters.written(key.length + Math.max(0, valueLength), used != null);
                    if (!sync) {
                        visible.setRelease(lastSequence);
                    }
                    done = true;
                }
            } finally {
                lock.unlock();
            }
            if (done) {
                if (target.runsLow() || used != null && used.runsLow(target.fill())) {
                    spares.wake();
                }
                if (isNew && target.isSampled(hash)) {
                    tree.sample(target, key, hash);
                }
                if (sync) {
                    sync(used, end);
                }
                return;
            }
            tree.makeRoom(target, bytes);
        }
    }

    private void check(byte[] key, int valueLength) {
        if (key.length > options.maxKeyBytes()) {
            throw new EntryTooLargeException("The key has " + key.length + " bytes, but at most "
                    + options.maxKeyBytes() + " are taken. Use a shorter key.");
        }
        if (valueLength > options.maxValueBytes()) {
            throw new EntryTooLargeException("The value has " + valueLength + " bytes, but at most "
                    + options.maxValueBytes() + " are taken. Send less, or start the server with a larger "
                    + "--max-value-bytes.");
        }
    }

    private long append(Log used, byte[] key, MemorySegment value) {
        try {
            return used.append(key, value, lastSequence + 1);
        } catch (IOException e) {
            counters.refusedFull.increment();
            throw Failure.of("The write was refused and not done, since its log cannot be written", e);
        }
    }

    private void sync(Log used, long end) {
        try {
            Log before = previousLog;
            if (before != null && before != used) {
                // Nobody may see a later write while an earlier one could still be lost.
                before.syncAll();
            }
            long sequence = used.sync(end);
            counters.syncedWrites.increment();
            visible.accumulateAndGet(sequence, Math::max);
        } catch (IOException e) {
            // The memtable has what the log may have lost; as a table it is safe, and a new log begins.
            Thread.ofPlatform().daemon().name("lsm-rescue").start(tree::flush);
            throw Failure.of("The write may be lost, since its log cannot be forced to disk", e);
        }
    }

    /**
     * Goes on with another memtable and log.
     *
     * @param publish makes them visible to readers, before any write goes there
     */
    void change(Memtable nextActive, Log nextLog, Runnable publish) {
        lock.lock();
        try {
            previousLog = log;
            active = nextActive;
            log = nextLog;
            if (nextLog != null) {
                nextLog.begin(lastSequence + 1);
            }
            publish.run();
        } finally {
            lock.unlock();
        }
    }

    /** The log before is on disk as tables; gives it up. */
    Log takePreviousLog() {
        Log done = previousLog;
        previousLog = null;
        return done;
    }

    /** Returns when what is in the logs is on disk. */
    void syncLogs() throws IOException {
        Log before = previousLog;
        if (before != null) {
            before.syncAll();
        }
        if (log != null) {
            log.syncAll();
        }
    }
}
