package lab.storage.lsm.disk;

import java.nio.file.Path;
import lab.storage.StorageException;

/** Bytes on disk are not the ones that were written. Names the file and the offset. */
public final class CorruptionException extends StorageException {

    private final transient Path file;
    private final long offset;
    private final String what;

    /**
     * @param file   the damaged file
     * @param offset first byte of the damaged part, from the start of the file
     * @param what   what is wrong there
     */
    public CorruptionException(Path file, long offset, String what) {
        super("File " + file + " is damaged at offset " + offset + ": " + what
                + ". Restore the folder from a copy, or keep what is whole: java -jar server.jar lsm "
                + "repair FOLDER (verify in its place shows all damage).");
        this.file = file;
        this.offset = offset;
        this.what = what;
    }

    /** Reports a part of a table whose checksum is not the one that was written, and the keys that it concerns. */
    public static CorruptionException checksum(Path file, long offset, String part, int expected, int got,
            Object range) {
        return new CorruptionException(file, offset, "checksum of the " + part + " is "
                + String.format("%08x", got) + ", expected " + String.format("%08x", expected) + "; the keys " + range
                + " cannot be read, others can");
    }

    /** Reports a part whose checksum is not the one that was written. */
    public static CorruptionException checksum(Path file, long offset, String part, int expected, int got) {
        return new CorruptionException(file, offset, "checksum of the " + part + " is "
                + String.format("%08x", got) + ", expected " + String.format("%08x", expected));
    }

    /** The damaged file. */
    public Path file() {
        return file;
    }

    /** First byte of the damaged part. */
    public long offset() {
        return offset;
    }

    /** What is wrong there. */
    public String what() {
        return what;
    }
}
