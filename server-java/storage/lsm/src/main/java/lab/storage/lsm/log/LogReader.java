package lab.storage.lsm.log;

import static lab.storage.lsm.disk.Encoding.INT;
import static lab.storage.lsm.disk.Encoding.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;
import lab.storage.lsm.CorruptionException;
import lab.storage.lsm.disk.Encoding;
import lab.storage.lsm.table.EntryCursor;
import lab.storage.lsm.table.Keys;

/** Reads a log that a process has left behind, up to the first record that is not whole. */
public final class LogReader implements AutoCloseable {

    /** Receives the writes of a log. */
    public interface Records {
        /**
         * @param value null for a delete; valid during this call
         */
        void accept(byte[] key, MemorySegment value) throws IOException;
    }

    private final Path file;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment data;
    private long firstSequence;
    private long durableEnd;
    private long writes;
    private long end;

    /** Maps a log. */
    public LogReader(Path file) throws IOException {
        this.file = file;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            data = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    /**
     * Whether the log was ever in use: it has a whole header. Call it first.
     *
     * @throws CorruptionException if it was, although its header is not whole, or if it is not a log of this number
     */
    public boolean begun(long number) {
        boolean whole = data.byteSize() >= LogFormat.FIRST_HEADER_BYTES && data.get(LONG, 0) == LogFormat.MAGIC
                && data.get(INT, LogFormat.HEADER_CHECKSUM) == Encoding.checksum(data, 0, LogFormat.HEADER_CHECKSUM);
        int version = whole ? data.get(INT, LogFormat.HEADER_VERSION) : LogFormat.VERSION;
        if (version > LogFormat.VERSION || version < LogFormat.FIRST_VERSION) {
            throw new CorruptionException(file, LogFormat.HEADER_VERSION, "the format of the log has version " + version
                    + ", this program knows " + LogFormat.FIRST_VERSION + " to " + LogFormat.VERSION);
        }
        boolean marked = version == LogFormat.VERSION && data.byteSize() >= LogFormat.HEADER_BYTES;
        durableEnd = marked ? LogFormat.markedEnd(number, data.get(LONG, LogFormat.HEADER_MARK)) : 0;
        if (!whole) {
            if (durableEnd > 0) {
                throw new CorruptionException(file, 0, "the header of the log is not whole, but " + durableEnd
                        + " bytes of it were forced to disk");
            }
            return false;
        }
        if (data.get(LONG, LogFormat.HEADER_NUMBER) != number) {
            throw new CorruptionException(file, LogFormat.HEADER_NUMBER, "the log has the number "
                    + data.get(LONG, LogFormat.HEADER_NUMBER) + " inside");
        }
        firstSequence = data.get(LONG, LogFormat.HEADER_FIRST_SEQUENCE);
        if (durableEnd < 0) {
            throw new CorruptionException(file, LogFormat.HEADER_MARK, "the mark of what was forced to disk is not what "
                    + "was written");
        }
        end = Math.min(data.byteSize(), version == LogFormat.VERSION ? LogFormat.HEADER_BYTES
                : LogFormat.FIRST_HEADER_BYTES);
        return true;
    }

    /** Shows the writes of every whole record, in order. */
    public void replay(Records receiver) throws IOException {
        CRC32C crc = new CRC32C();
        while (true) {
            long next = endOfRecord(crc);
            if (next < 0) {
                return;
            }
            int keyLength = data.get(INT, end + LogFormat.RECORD_KEY_LENGTH);
            int valueLength = data.get(INT, end + LogFormat.RECORD_VALUE_LENGTH);
            if (keyLength == LogFormat.BATCH) {
                replayBatch(next, receiver);
            } else {
                show(end + LogFormat.RECORD_HEADER_BYTES, keyLength, valueLength, receiver);
            }
            end = next;
        }
    }

    /** Shows the writes of all whole records, also of those that follow damage. */
    public void salvage(Records receiver) throws IOException {
        if (end == 0) {
            end = Math.min(data.byteSize(), LogFormat.HEADER_BYTES);
        }
        CRC32C crc = new CRC32C();
        while (data.byteSize() - end >= LogFormat.RECORD_HEADER_BYTES) {
            if (endOfRecord(crc) < 0) {
                end++;
            } else {
                replay(receiver);
            }
        }
    }

    private void replayBatch(long batchEnd, Records receiver) throws IOException {
        long at = end + LogFormat.RECORD_HEADER_BYTES;
        while (at < batchEnd) {
            int keyLength = data.get(INT, at);
            int valueLength = data.get(INT, at + Integer.BYTES);
            show(at + LogFormat.ENTRY_HEADER_BYTES, keyLength, valueLength, receiver);
            at += LogFormat.entryBytes(keyLength, valueLength);
        }
    }

    private void show(long keyAt, int keyLength, int valueLength, Records receiver) throws IOException {
        byte[] key = data.asSlice(keyAt, keyLength).toArray(ValueLayout.JAVA_BYTE);
        receiver.accept(key, valueLength == EntryCursor.TOMBSTONE ? null
                : data.asSlice(keyAt + keyLength, valueLength));
        writes++;
    }

    /** Where the record that starts at {@link #end} ends; -1 if there is no whole one. */
    private long endOfRecord(CRC32C crc) {
        if (data.byteSize() - end < LogFormat.RECORD_HEADER_BYTES) {
            return -1;
        }
        int keyLength = data.get(INT, end + LogFormat.RECORD_KEY_LENGTH);
        int valueLength = data.get(INT, end + LogFormat.RECORD_VALUE_LENGTH);
        boolean isBatch = keyLength == LogFormat.BATCH;
        if (isBatch ? valueLength <= 0
                : keyLength < 0 || keyLength > Keys.MAX_BYTES || valueLength < EntryCursor.TOMBSTONE) {
            return -1;
        }
        long next = end + LogFormat.recordBytes(isBatch ? 0 : keyLength, valueLength);
        if (next > data.byteSize()) {
            return -1;
        }
        crc.reset();
        crc.update(data.asSlice(end + LogFormat.RECORD_KEY_LENGTH, next - end - LogFormat.RECORD_KEY_LENGTH)
                .asByteBuffer());
        return (int) crc.getValue() == data.get(INT, end + LogFormat.RECORD_CHECKSUM) ? next : -1;
    }

    /** Whether something follows the last whole record that is not just room for the next one. */
    public boolean torn() {
        long at = end;
        for (; at + Long.BYTES <= data.byteSize(); at += Long.BYTES) {
            if (data.get(LONG, at) != 0) {
                return true;
            }
        }
        for (; at < data.byteSize(); at++) {
            if (data.get(Encoding.BYTE, at) != 0) {
                return true;
            }
        }
        return false;
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

    /** Returns the size of the file. */
    public long sizeBytes() {
        return data.byteSize();
    }

    @Override
    public void close() {
        arena.close();
    }
}
