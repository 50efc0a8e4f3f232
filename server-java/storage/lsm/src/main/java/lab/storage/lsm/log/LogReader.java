package lab.storage.lsm.log;

import static lab.storage.lsm.disk.Encoding.INT;
import static lab.storage.lsm.disk.Encoding.LONG;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.disk.Encoding;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;

/**
 * Reads a log that a process has left behind, up to the first record that is not whole. It asks the kernel for the bytes: of
 * a mapping, on a file system that lies in memory, reading a hole takes a page, and there may be none.
 */
public final class LogReader implements AutoCloseable {

    /** Receives the writes of a log. */
    public interface Records {
        /**
         * @param value null for a delete; valid during this call
         */
        void accept(byte[] key, MemorySegment value) throws IOException;
    }

    private static final int WINDOW_BYTES = 256 * 1024;
    /** Zeros of this length hold the whole header of any record that begins in the first {@link #ZEROS_STEP} of them. */
    private static final int ZEROS_BYTES = 2 * Long.BYTES;
    private static final int ZEROS_STEP = ZEROS_BYTES - LogFormat.RECORD_HEADER_BYTES + 1;

    private final Path file;
    private final FileChannel channel;
    private final Arena arena = Arena.ofConfined();
    private final CRC32C crc = new CRC32C();
    private final long sizeBytes;
    /** A part of the file, from {@link #windowStart} to {@link #windowEnd}. */
    private MemorySegment window = arena.allocate(WINDOW_BYTES);
    private long windowStart;
    private long windowEnd;
    private long dataEnd = -1;
    private long firstSequence;
    private long durableEnd;
    private long writes;
    private long end;

    /** Opens a log. */
    public LogReader(Path file) throws IOException {
        this.file = file;
        this.channel = FileChannel.open(file, StandardOpenOption.READ);
        this.sizeBytes = channel.size();
    }

    /** Shows some bytes of the file, until the next call. */
    private MemorySegment read(long from, long bytes) throws IOException {
        if (from < windowStart || from + bytes > windowEnd) {
            if (bytes > window.byteSize()) {
                window = arena.allocate(bytes);
            }
            ByteBuffer into = window.asByteBuffer();
            into.limit((int) Math.min(into.capacity(), sizeBytes - from));
            windowEnd = windowStart;
            while (into.hasRemaining()) {
                if (channel.read(into, from + into.position()) < 0) {
                    throw new EOFException("The log " + file + " became shorter while it was read.");
                }
            }
            windowStart = from;
            windowEnd = from + into.limit();
        }
        return window.asSlice(from - windowStart, bytes);
    }

    /**
     * Whether the log was ever in use: it has a whole header. Call it first.
     *
     * @throws CorruptionException if it was, although its header is not whole, or if it is not a log of this number
     */
    public boolean begun(long number) throws IOException {
        if (sizeBytes < LogFormat.HEADER_BYTES) {
            return false;
        }
        MemorySegment header = read(0, LogFormat.HEADER_BYTES);
        boolean isWhole = header.get(LONG, LogFormat.HEADER_MAGIC) == LogFormat.MAGIC
                && header.get(INT, LogFormat.HEADER_CHECKSUM) == Encoding.checksum(header, 0, LogFormat.HEADER_CHECKSUM);
        int version = header.get(INT, LogFormat.HEADER_VERSION);
        if (isWhole && version != LogFormat.VERSION) {
            throw new CorruptionException(file, LogFormat.HEADER_VERSION, "the format of the log has version " + version
                    + ", this program knows " + LogFormat.VERSION);
        }
        durableEnd = LogFormat.markedEnd(number, header.get(LONG, LogFormat.HEADER_MARK));
        if (!isWhole) {
            if (durableEnd > 0) {
                throw new CorruptionException(file, 0, "the header of the log is not whole, but " + durableEnd
                        + " bytes of it were forced to disk");
            }
            return false;
        }
        if (header.get(LONG, LogFormat.HEADER_NUMBER) != number) {
            throw new CorruptionException(file, LogFormat.HEADER_NUMBER, "the log has the number "
                    + header.get(LONG, LogFormat.HEADER_NUMBER) + " inside");
        }
        firstSequence = header.get(LONG, LogFormat.HEADER_FIRST_SEQUENCE);
        if (durableEnd < 0) {
            throw new CorruptionException(file, LogFormat.HEADER_MARK, "the mark of what was forced to disk is not what "
                    + "was written");
        }
        end = LogFormat.HEADER_BYTES;
        return true;
    }

    /** Shows the writes of every whole record, in order. */
    public void replay(Records receiver) throws IOException {
        for (long next = endOfRecord(); next >= 0; next = endOfRecord()) {
            MemorySegment header = read(end, LogFormat.RECORD_HEADER_BYTES);
            int keyLength = header.get(INT, LogFormat.RECORD_KEY_LENGTH);
            int valueLength = header.get(INT, LogFormat.RECORD_VALUE_LENGTH);
            MemorySegment entry = read(end + LogFormat.RECORD_HEADER_BYTES, next - end - LogFormat.RECORD_HEADER_BYTES);
            byte[] key = entry.asSlice(0, keyLength).toArray(ValueLayout.JAVA_BYTE);
            receiver.accept(key, valueLength == EntryCursor.TOMBSTONE ? null : entry.asSlice(keyLength));
            writes++;
            end = next;
        }
    }

    /** Shows the writes of all whole records, also of those that follow damage. */
    public void salvage(Records receiver) throws IOException {
        if (end == 0) {
            end = Math.min(sizeBytes, LogFormat.HEADER_BYTES);
        }
        while (end < dataEnd()) {
            if (endOfRecord() >= 0) {
                replay(receiver);
            } else {
                end += beginsWithZeros() ? ZEROS_STEP : 1;
            }
        }
    }

    private boolean beginsWithZeros() throws IOException {
        if (sizeBytes - end < ZEROS_BYTES) {
            return false;
        }
        MemorySegment bytes = read(end, ZEROS_BYTES);
        return (bytes.get(LONG, 0) | bytes.get(LONG, Long.BYTES)) == 0;
    }

    /** Where the record that starts at {@link #end} ends; -1 if there is no whole one. */
    private long endOfRecord() throws IOException {
        if (sizeBytes - end < LogFormat.RECORD_HEADER_BYTES) {
            return -1;
        }
        MemorySegment header = read(end, LogFormat.RECORD_HEADER_BYTES);
        int keyLength = header.get(INT, LogFormat.RECORD_KEY_LENGTH);
        int valueLength = header.get(INT, LogFormat.RECORD_VALUE_LENGTH);
        if (keyLength <= 0 || keyLength > Keys.MAX_BYTES || valueLength < EntryCursor.TOMBSTONE) {
            return -1;
        }
        int checksum = header.get(INT, LogFormat.RECORD_CHECKSUM);
        long next = end + LogFormat.recordBytes(keyLength, valueLength);
        return next <= sizeBytes && checksum(end + LogFormat.RECORD_KEY_LENGTH, next) == checksum ? next : -1;
    }

    /** In pieces, for the length that a damaged record names may be anything. */
    private int checksum(long from, long to) throws IOException {
        crc.reset();
        for (long at = from; at < to; at += WINDOW_BYTES) {
            crc.update(read(at, Math.min(WINDOW_BYTES, to - at)).asByteBuffer());
        }
        return (int) crc.getValue();
    }

    /** Whether something follows the last whole record that is not just room for the next one. */
    public boolean torn() throws IOException {
        return dataEnd() > end;
    }

    /**
     * Whether that can be what a killed process leaves of the record, or the header, that it was writing. The checksum is
     * stored last.
     */
    public boolean unfinished() throws IOException {
        long checksum = end == 0 ? LogFormat.HEADER_CHECKSUM : end + LogFormat.RECORD_CHECKSUM;
        return sizeBytes - checksum >= Integer.BYTES && read(checksum, Integer.BYTES).get(INT, 0) == 0;
    }

    /** Position after the last byte that is not zero. */
    public long dataEnd() throws IOException {
        for (long to = sizeBytes; dataEnd < 0; ) {
            long from = Math.max(0, to - WINDOW_BYTES);
            MemorySegment piece = read(from, to - from);
            long at = piece.byteSize();
            while (at >= Long.BYTES && piece.get(LONG, at - Long.BYTES) == 0) {
                at -= Long.BYTES;
            }
            while (at > 0 && piece.get(Encoding.BYTE, at - 1) == 0) {
                at--;
            }
            if (at > 0 || from == 0) {
                dataEnd = from + at;
            }
            to = from;
        }
        return dataEnd;
    }

    /** Position up to which the log was once forced to disk; 0 if that is not known. */
    public long durableEnd() {
        return durableEnd;
    }

    /** Number of the first write in it. */
    public long firstSequence() {
        return firstSequence;
    }

    /** Writes shown. */
    public long writes() {
        return writes;
    }

    /** Position after the last whole record. */
    public long end() {
        return end;
    }

    @Override
    public void close() throws IOException {
        arena.close();
        channel.close();
    }
}
