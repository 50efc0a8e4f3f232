package lab.storage.lsm.log;

/** Constants of a log file; {@code log_format.md} explains them. */
public final class LogFormat {

    /** "LABSTLOG" read as a little-endian number. */
    static final long MAGIC = 0x474f4c545342414cL;
    static final int VERSION = 3;

    static final int HEADER_MAGIC = 0;
    static final int HEADER_VERSION = 8;
    static final int HEADER_NUMBER = 12;
    static final int HEADER_FIRST_SEQUENCE = 20;
    static final int HEADER_CHECKSUM = 28;
    /** Up to here the file was on disk when this was written. At a multiple of its size, so that it is never torn. */
    static final int HEADER_MARK = 32;
    /** Size of the header. */
    public static final int HEADER_BYTES = 40;
    private static final long MARK_MIX = 0x9e3779b97f4a7c15L;

    static final int RECORD_CHECKSUM = 0;
    static final int RECORD_KEY_LENGTH = 4;
    static final int RECORD_VALUE_LENGTH = 8;
    /** Size of what stands before a record's key. */
    public static final int RECORD_HEADER_BYTES = 12;

    private LogFormat() {
    }

    /** The mark that says up to where a log is on disk; its upper half checks the lower one. */
    static long mark(long number, long end) {
        return (number << Integer.SIZE | end) * MARK_MIX & -1L << Integer.SIZE | end;
    }

    /** Where the part ends that a mark says to be on disk; -1 if it is none of this log. */
    static long markedEnd(long number, long mark) {
        long end = mark & (1L << Integer.SIZE) - 1;
        return mark == 0 ? 0 : mark(number, end) == mark ? end : -1;
    }

    /** Bytes of a record. */
    public static long recordBytes(int keyLength, int valueLength) {
        return (long) RECORD_HEADER_BYTES + keyLength + Math.max(0, valueLength);
    }
}
