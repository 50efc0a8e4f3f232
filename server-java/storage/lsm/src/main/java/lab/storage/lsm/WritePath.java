package lab.storage.lsm;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import lab.storage.EntryTooLargeException;
import lab.storage.StorageException;
import lab.storage.lsm.background.Failure;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.log.Log;
import lab.storage.lsm.log.LogFormat;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.options.LsmOptions;

/**
 * The way of a write: into the log, into the memtable, and, if the log is synced, to the disk. One writer at a time is in
 * the lock, which is held for less than a microsecond; waiting is done outside it.
 */
final class WritePath {

    private final Tree tree;
    private final LsmOptions options;
    private final Counters counters;
    private final WriteThrottle throttle;
    private final Spares spares;
    private final boolean sync;
    private final WriteLock lock = new WriteLock();

    // Under the lock.
    private Memtable active;
    private volatile Log log;
    private long lastSequence;
    private boolean closed;

    /** Logs of frozen memtables, oldest first. Changed under the lock. */
    private volatile List<Log> frozenLogs = List.of();
    /** With a synced log: the last write that is in its memtable, Written under the lock. */
    private volatile long applied;
    /** The last write that a snapshot sees. */
    private final AtomicLong visible = new AtomicLong();

    /**
     * @param active       memtable that takes the first writes
     * @param first        log of them; null if there is none
     * @param lastSequence number of the last write before
     */
    WritePath(Tree tree, LsmOptions options, Counters counters, WriteThrottle throttle, Spares spares, Memtable active,
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
        this.applied = lastSequence;
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

    /** The last write that readers and snapshots see: what a read has shown, a range that follows shows too. */
    long visible() {
        return visible.get();
    }

    /** Writes one version, after waiting for room. A null value is a delete. */
    void write(byte[] key, MemorySegment value) {
        int valueLength = value == null ? EntryCursor.TOMBSTONE : (int) Math.min(value.byteSize(), Integer.MAX_VALUE);
        check(key, valueLength);
        long bytes = Memtable.bytesFor(key.length, valueLength);
        long recordBytes = LogFormat.recordBytes(key.length, valueLength);
        long hash = Keys.hash(key, key.length);
        throttle.pass(Memtable.usualBytes(key.length, valueLength));
        while (true) {
            Memtable target;
            Log used;
            boolean done = false;
            long end = 0;
            lock.lock();
            try {
                if (closed) {
                    throw tree.isClosed();
                }
                target = active;
                used = log;
                if (target.fits(bytes) && (used == null || used.fits(recordBytes))) {
                    end = used == null ? 0 : append(used, key, value);
                    target.put(key, hash, value, ++lastSequence);
                    counters.written(1, key.length + Math.max(0, valueLength), used == null ? 0 : recordBytes);
                    publish();
                    done = true;
                }
            } finally {
                lock.unlock();
            }
            if (done) {
                wakeIfLow(target, used);
                if (sync) {
                    sync(used, end, 1);
                }
                return;
            }
            tree.makeRoom(target, bytes);
        }
    }

    /** Shows the writes of before to readers, or, with a synced log, lets {@link #sync} show them. Needs the lock. */
    private void publish() {
        if (sync) {
            applied = lastSequence;
        } else {
            visible.setRelease(lastSequence);
        }
    }

    private void wakeIfLow(Memtable target, Log used) {
        if (target.runsLow() || used != null && used.runsLow(target.fill())) {
            spares.wake();
        }
    }

    private void check(byte[] key, int valueLength) {
        if (key.length == 0) {
            throw new IllegalArgumentException("The key is empty. A key has at least one byte.");
        }
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
            throw Failure.of("The write was refused and not done, since its log cannot be written", e,
                    "Repair the disk and write again.");
        }
    }

    /** Returns when the log is on disk up to a position, where so many writes of the caller end. */
    private void sync(Log used, long end, int writes) {
        try {
            List<Log> before = frozenLogs;
            for (int i = 0; i < before.size() && before.get(i) != used; i++) {
                // Nobody may see a later write while an earlier one could still be lost.
                before.get(i).syncAll();
            }
            long sequence = used.sync(end);
            counters.syncedWrites.add(writes);
            // The log may hold a write that another writer is still putting into the memtable, and will show itself.
            show(Math.min(sequence, applied));
        } catch (IOException e) {
            // The memtable has what the log may have lost; as a table it is safe.
            tree.giveUp(used);
            throw Failure.of("The write may be lost, since its log cannot be forced to disk", e,
                    "Repair the disk and write again: the store begins a new log.");
        }
    }

    /** Lets readers see all writes up to this one. */
    private void show(long sequence) {
        long shown = visible.get();
        while (shown < sequence && !visible.compareAndSet(shown, sequence)) {
            shown = visible.get();
        }
    }

    /**
     * Switches to another memtable and log.
     *
     * @param publish makes them visible to readers, before any write goes there
     */
    void change(Memtable nextActive, Log nextLog, Runnable publish) {
        lock.lock();
        try {
            if (log != null) {
                List<Log> logs = new ArrayList<>(frozenLogs);
                logs.add(log);
                frozenLogs = List.copyOf(logs);
            }
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

    /** Gives up the log of the oldest frozen memtable, which is in tables; null if it has none. */
    Log takeOldestLog() {
        lock.lock();
        try {
            List<Log> logs = frozenLogs;
            if (logs.isEmpty()) {
                return null;
            }
            frozenLogs = List.copyOf(logs.subList(1, logs.size()));
            return logs.getFirst();
        } finally {
            lock.unlock();
        }
    }

    /** Takes no more writes. */
    void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }

    /** Returns when what is in the logs is on disk. */
    void syncLogs() throws IOException {
        for (Log before : frozenLogs) {
            before.syncAll();
        }
        if (log != null) {
            log.syncAll();
        }
    }

    /**
     * A lock for sections of less than a microsecond: whoever comes second looks again for a moment before it goes to
     * sleep, for being woken costs a hundred times the section.
     */
    private static final class WriteLock {

        private static final int LOOKS = Runtime.getRuntime().availableProcessors() > 1 ? 200 : 0;

        private final ReentrantLock lock = new ReentrantLock();

        void lock() {
            for (int i = 0; i < LOOKS; i++) {
                if (lock.tryLock()) {
                    return;
                }
                Thread.onSpinWait();
            }
            lock.lock();
        }

        void unlock() {
            lock.unlock();
        }
    }
}
