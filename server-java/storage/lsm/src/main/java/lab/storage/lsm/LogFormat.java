package lab.storage.lsm;

/** Constants of a log file; {@code log_format.md} explains them. */
final class LogFormat {

    /** "LABSTLOG" read as a little-endian number. */
    static final long MAGIC = 0x474f4c545342414cL;
    static final int VERSION = 1;

    static final int HEADER_MAGIC = 0;
    static final int HEADER_VERSION = 8;
    static final int HEADER_NUMBER = 12;
    static final int HEADER_FIRST_SEQUENCE = 20;
    static final int HEADER_CHECKSUM = 28;
    static final int HEADER_BYTES = 32;

    static final int RECORD_CHECKSUM = 0;
    static final int RECORD_KEY_LENGTH = 4;
    static final int RECORD_VALUE_LENGTH = 8;
    static final int RECORD_HEADER_BYTES = 12;

    private LogFormat() {
    }

    /** Bytes of a record. */
    static long recordBytes(int keyLength, int valueLength) {
        return (long) RECORD_HEADER_BYTES + keyLength + Math.max(0, valueLength);
    }
}
