package lab.storage.lsm.log;

import static lab.storage.lsm.disk.Encoding.INT;
import static lab.storage.lsm.disk.Encoding.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.disk.Encoding;
import lab.storage.lsm.entry.EntryCursor;

/**
 * A write-ahead log, one for each memtable. Records are written into a mapping of the file: that costs no system call,
 * and the kernel has the bytes as soon as they are stored, so a killed process loses nothing.
 *
 * <p>A mapping must not touch a page for which the disk has no room, or the process gets a signal instead of an error. So
 * zeros are written ahead, in the ordinary way, and only what they cover is used. {@link #reserveAhead} does it before it
 * is needed.
 */
public final class Log {

    private static final int STEPS_AHEAD = 4;
    /** Fill of a memtable from which on the size of its whole log is estimated. */
    private static final double ESTIMATE_FILL = 0.1;
    private static final int PAGE_BYTES = 4096;
    private static final VarHandle ADD = ValueLayout.JAVA_INT.varHandle();
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(256 * 1024);
    /** So many forces may pass without a mark while writers wait for the next one. */
    private static final int MOST_UNMARKED = 32;
    /** So often a leader lets others append before it forces, as long as some do. */
    private static final int MOST_YIELDS = 16;

    private final Disk disk;
    private final Path file;
    private final long number;
    /** Changed by {@link #reopen}. */
    private volatile FileChannel channel;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment map;
    private final ByteBuffer view;
    private final long stepBytes;
    /** So many zeros are written at a time. */
    private final int pieceBytes;
    private final CRC32C crc = new CRC32C();
    /** Held while the file is forced to disk, so that it is not closed meanwhile; taken before {@link #reserves}. */
    private final Object forces = new Object();
    private final Object reserves = new Object();
    private final Object reopens = new Object();
    private volatile long reserved;
    /** Written by the one writer, after the record that they tell of. */
    private final AtomicLong lastSequence = new AtomicLong();
    private final AtomicLong position = new AtomicLong();
    private final GroupCommit group = new GroupCommit();
    private final GroupCommit.Force force = this::force;
    private volatile long syncedSequence;
    private int unmarked;
    private volatile boolean closed;
    /** Its records are in tables that survive a loss of power. */
    private boolean inTables;

    private Log(Disk disk, Path file, long number, FileChannel channel, long capacity, long stepBytes, boolean synced)
            throws IOException {
        this.disk = disk;
        this.file = file;
        this.number = number;
        this.channel = channel;
        this.stepBytes = stepBytes;
        this.pieceBytes = synced ? PAGE_BYTES : ZEROS.capacity();
        this.map = channel.map(FileChannel.MapMode.READ_WRITE, 0, capacity, arena);
        this.view = map.asByteBuffer();
    }

    /**
     * Makes a log and reserves its first bytes, so that its first writers need not wait for the kernel.
     *
     * @param capacity  bytes that it can have; fewer than 2 GiB
     * @param stepBytes so many bytes are reserved at a time
     * @param synced    whether it is forced for each few records: the kernel keeps what is written at once as one large
     *                  page, and one byte stored through the mapping makes all of it go to the disk with the next force
     */
    public static Log create(Disk disk, Path file, long number, long capacity, long stepBytes, boolean synced)
            throws IOException {
        FileChannel channel = disk.create(file);
        Log log = null;
        try {
            log = new Log(disk, file, number, channel, capacity, stepBytes, synced);
            log.reserve(stepBytes);
            log.touch(0);
            return log;
        } catch (Throwable e) {
            if (log == null) {
                channel.close();
            } else {
                log.close();
            }
            disk.delete(file);
            throw e;
        }
    }

    /** Says that it comes into use: its first record will have this number. */
    public void begin(long firstSequence) {
        map.set(LONG, LogFormat.HEADER_MAGIC, LogFormat.MAGIC);
        map.set(INT, LogFormat.HEADER_VERSION, LogFormat.VERSION);
        map.set(LONG, LogFormat.HEADER_NUMBER, number);
        map.set(LONG, LogFormat.HEADER_FIRST_SEQUENCE, firstSequence);
        map.set(INT, LogFormat.HEADER_CHECKSUM, Encoding.checksum(map, 0, LogFormat.HEADER_CHECKSUM));
        lastSequence.set(firstSequence - 1);
        position.set(LogFormat.HEADER_BYTES);
    }

    /** Whether a record of so many bytes has room; the next log takes what has not. */
    public boolean fits(long recordBytes) {
        return position.getPlain() + recordBytes <= map.byteSize();
    }

    /**
     * Appends one record. For one thread at a time.
     *
     * @param value null for a delete
     * @return position after it, for {@link #sync}
     * @throws IOException if the disk has no room for it; then nothing was written
     */
    public long append(byte[] key, MemorySegment value, long sequence) throws IOException {
        int valueLength = value == null ? EntryCursor.TOMBSTONE : (int) value.byteSize();
        long at = position.getPlain();
        long end = at + LogFormat.recordBytes(key.length, valueLength);
        if (end > reserved) {
            reserve(end + stepBytes / STEPS_AHEAD);
        }
        map.set(INT, at + LogFormat.RECORD_VALUE_LENGTH, valueLength);
        MemorySegment.copy(key, 0, map, ValueLayout.JAVA_BYTE, at + LogFormat.RECORD_HEADER_BYTES, key.length);
        if (valueLength > 0) {
            MemorySegment.copy(value, 0, map, at + LogFormat.RECORD_HEADER_BYTES + key.length, valueLength);
        }
        map.set(INT, at + LogFormat.RECORD_KEY_LENGTH, key.length);
        return finish(at, end, sequence);
    }

    /** Seals a record with its checksum and moves on behind it. */
    private long finish(long at, long end, long sequence) {
        crc.reset();
        crc.update(view.clear().limit((int) end).position((int) at + LogFormat.RECORD_KEY_LENGTH));
        map.set(INT, at + LogFormat.RECORD_CHECKSUM, (int) crc.getValue());
        lastSequence.setRelease(sequence);
        position.setRelease(end);
        return end;
    }

    /**
     * Whether it is time to reserve more; asking costs nothing.
     *
     * @param fill how full the memtable is: when it is full, what the log has reserved beyond that was written in vain
     */
    public boolean runsLow(double fill) {
        long at = position.getPlain();
        long needed = fill < ESTIMATE_FILL ? map.byteSize() : Math.min(map.byteSize(), (long) (at / fill));
        return reserved - at < stepBytes * STEPS_AHEAD && reserved < needed;
    }

    /**
     * Reserves some bytes more, and touches their pages so that the writer need not wait for the kernel. A log that another
     * thread closes meanwhile gets no more.
     */
    public void reserveAhead(double fill) throws IOException {
        while (!closed && runsLow(fill)) {
            long from = reserved;
            reserve(from + stepBytes);
            touch(from);
        }
    }

    /**
     * Has the kernel map what is reserved from a page on, for writing: of the first page that a writer touches itself it
     * takes up to milliseconds.
     */
    private void touch(long from) {
        synchronized (reserves) {
            for (long page = from; page < reserved && !closed; page += PAGE_BYTES) {
                // Adds nothing, but as a write, and without getting in the way of the writer.
                ADD.getAndAdd(map, page, 0);
            }
        }
    }

    /** Reserves whole pages. */
    private void reserve(long atLeast) throws IOException {
        long end = Math.min(map.byteSize(), atLeast + PAGE_BYTES - 1 & -PAGE_BYTES);
        synchronized (reserves) {
            while (reserved < end && !closed) {
                ByteBuffer zeros = ZEROS.duplicate().limit((int) Math.min(pieceBytes, end - reserved));
                int bytes = zeros.remaining();
                long from = reserved;
                uninterruptibly(open -> disk.write(open, zeros.duplicate(), from));
                reserved = from + bytes;
            }
        }
    }

    /**
     * Returns when the log is on disk up to a position. Many writers share one wait for the disk.
     *
     * @return number of the last write that is known to be on disk
     * @throws IOException if that failed, now or before; the log is of no use any more
     */
    public long sync(long upTo) throws IOException {
        group.await(upTo, force);
        return syncedSequence;
    }

    /** Forces the file; for one thread at a time. */
    private long force(boolean isShared) throws IOException {
        if (isShared) {
            gather();
        }
        synchronized (forces) {
            if (inTables) {
                return Long.MAX_VALUE;
            }
            if (closed) {
                throw new IOException("the log " + file + " was closed before it was forced to disk");
            }
            LogSyncEvent event = new LogSyncEvent();
            event.begin();
            // In this order: what the number says is stored in the mapping before the number is, and forcing takes
            // all that is stored by then.
            long sequence = lastSequence.get();
            long target = position.get();
            uninterruptibly(disk::force);
            event.bytes = target - group.done();
            event.log = number;
            event.commit();
            syncedSequence = sequence;
            mark(target);
            return target;
        }
    }

    /** Lets those who were woken by the force before append once more, so that this one covers them too. */
    private void gather() {
        long before = -1;
        for (int i = 0; i < MOST_YIELDS && position.get() != before; i++) {
            before = position.get();
            Thread.yield();
        }
    }

    /**
     * Stores the mark after a force, so that what it says is true whether it reaches the disk itself or not. It lies in
     * another page than the records, which the next force has to write too; so not each of a row of forces has one.
     */
    private void mark(long target) {
        if (group.hasWaiters() && ++unmarked < MOST_UNMARKED) {
            return;
        }
        unmarked = 0;
        map.set(LONG, LogFormat.HEADER_MARK, LogFormat.mark(number, target));
    }

    /** Work on the file that may be done again. */
    private interface Work {
        void on(FileChannel open) throws IOException;
    }

    /**
     * Does something with the file although the thread is interrupted, which closes its channel, or although another
     * thread is that uses it at the same time: writers share the log, and one that is interrupted must not take it from
     * the others.
     */
    private void uninterruptibly(Work work) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                FileChannel used = channel;
                try {
                    work.on(used);
                    return;
                } catch (ClosedChannelException e) {
                    interrupted |= Thread.interrupted();
                    reopen(used);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void reopen(FileChannel closedOne) throws IOException {
        synchronized (reopens) {
            if (channel == closedOne) {
                channel = disk.open(file);
            }
        }
    }

    /** Returns when all that was appended is on disk. */
    public long syncAll() throws IOException {
        return sync(position.get());
    }

    /** Returns the number in the name of its file. */
    public long number() {
        return number;
    }

    /** Bytes of records so far. */
    long sizeBytes() {
        return position.get();
    }

    /** Ends its use. The file stays. */
    public void close() {
        synchronized (forces) {
            synchronized (reserves) {
                if (closed) {
                    return;
                }
                closed = true;
                arena.close();
            }
            try {
                channel.close();
            } catch (IOException e) {
                // Nothing depends on it: what must be on disk was synced.
            }
        }
    }

    /** Ends its use and removes the file, because its records are in tables that survive a loss of power. */
    public void delete() {
        synchronized (forces) {
            inTables = true;
            syncedSequence = lastSequence.get();
        }
        close();
        try {
            disk.delete(file);
        } catch (IOException e) {
            // The manifest no longer asks for it, so the next start removes it.
        }
    }
}
