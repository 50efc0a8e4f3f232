package lab.storage.lsm;

import static lab.storage.lsm.TableFormat.INT;
import static lab.storage.lsm.TableFormat.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/** Reads a log that a process has left behind, up to the first record that is not whole. */
final class LogReader implements AutoCloseable {

    /** Receives the records of a log. */
    interface Records {
        /**
         * @param value null for a delete; valid during this call
         */
        void accept(byte[] key, MemorySegment value) throws IOException;
    }

    private final Path file;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment data;
    private long firstSequence;
    private long records;
    private long end;

    LogReader(Path file) throws IOException {
        this.file = file;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            data = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    /** Whether the log was ever in use: it has a whole header. Call it first. */
    boolean begun(long number) {
        if (data.byteSize() < LogFormat.HEADER_BYTES || data.get(LONG, 0) != LogFormat.MAGIC
                || data.get(INT, LogFormat.HEADER_CHECKSUM)
                        != TableFormat.checksum(data, 0, LogFormat.HEADER_CHECKSUM)) {
            return false;
        }
        int version = data.get(INT, LogFormat.HEADER_VERSION);
        if (version != LogFormat.VERSION) {
            throw new CorruptionException(file, LogFormat.HEADER_VERSION, "the format of the log has version " + version
                    + ", this program knows " + LogFormat.VERSION);
        }
        if (data.get(LONG, LogFormat.HEADER_NUMBER) != number) {
            throw new CorruptionException(file, LogFormat.HEADER_NUMBER, "the log has the number "
                    + data.get(LONG, LogFormat.HEADER_NUMBER) + " inside");
        }
        firstSequence = data.get(LONG, LogFormat.HEADER_FIRST_SEQUENCE);
        end = LogFormat.HEADER_BYTES;
        return true;
    }

    /** Shows every whole record, in order. */
    void replay(Records receiver) throws IOException {
        CRC32C crc = new CRC32C();
        while (true) {
            long next = endOfRecord(crc);
            if (next < 0) {
                return;
            }
            int keyLength = data.get(INT, end + LogFormat.RECORD_KEY_LENGTH);
            int valueLength = data.get(INT, end + LogFormat.RECORD_VALUE_LENGTH);
            long keyAt = end + LogFormat.RECORD_HEADER_BYTES;
            byte[] key = data.asSlice(keyAt, keyLength).toArray(ValueLayout.JAVA_BYTE);
            receiver.accept(key, valueLength == TableFormat.TOMBSTONE ? null
                    : data.asSlice(keyAt + keyLength, valueLength));
            records++;
            end = next;
        }
    }

    /** Where the record that starts at {@link #end} ends; -1 if there is no whole one. */
    private long endOfRecord(CRC32C crc) {
        if (data.byteSize() - end < LogFormat.RECORD_HEADER_BYTES) {
            return -1;
        }
        int keyLength = data.get(INT, end + LogFormat.RECORD_KEY_LENGTH);
        int valueLength = data.get(INT, end + LogFormat.RECORD_VALUE_LENGTH);
        if (keyLength <= 0 || keyLength > TableFormat.MAX_KEY_BYTES || valueLength < TableFormat.TOMBSTONE) {
            return -1;
        }
        long next = end + LogFormat.recordBytes(keyLength, valueLength);
        if (next > data.byteSize()) {
            return -1;
        }
        crc.reset();
        crc.update(data.asSlice(end + LogFormat.RECORD_KEY_LENGTH, next - end - LogFormat.RECORD_KEY_LENGTH)
                .asByteBuffer());
        return (int) crc.getValue() == data.get(INT, end + LogFormat.RECORD_CHECKSUM) ? next : -1;
    }

    /** Whether something follows the last whole record that is not just room for the next one. */
    boolean torn() {
        long at = end;
        for (; at + Long.BYTES <= data.byteSize(); at += Long.BYTES) {
            if (data.get(LONG, at) != 0) {
                return true;
            }
        }
        for (; at < data.byteSize(); at++) {
            if (data.get(TableFormat.BYTE, at) != 0) {
                return true;
            }
        }
        return false;
    }

    /** Number of the first write in it. */
    long firstSequence() {
        return firstSequence;
    }

    /** Records shown. */
    long records() {
        return records;
    }

    /** Position after the last whole record. */
    long end() {
        return end;
    }

    long sizeBytes() {
        return data.byteSize();
    }

    @Override
    public void close() {
        arena.close();
    }
}
