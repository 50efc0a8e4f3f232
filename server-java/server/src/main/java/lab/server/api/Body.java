package lab.server.api;

/** The body of an answer, read in pieces. */
public interface Body extends AutoCloseable {

    /** Length is not known before the end. */
    long UNKNOWN_LENGTH = -1;

    /** Bytes in all, or {@link #UNKNOWN_LENGTH}. */
    long length();

    /**
     * Puts the next bytes into a buffer, as many as there are or as fit.
     *
     * @return number of bytes put; less than {@code length} only at the end, and 0 after it
     */
    int read(byte[] buffer, int offset, int length);

    @Override
    void close();
}
