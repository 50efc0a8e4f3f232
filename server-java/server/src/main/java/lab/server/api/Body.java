package lab.server.api;

/** The body of a response, read in pieces. */
public interface Body extends AutoCloseable {

    /** Length is not known before the end. */
    long UNKNOWN_LENGTH = -1;

    /** Bytes in all, or {@link #UNKNOWN_LENGTH}. */
    long length();

    /**
     * Whether reading may wait for more than the processor and the disk, so that no thread that others need may read it.
     * Then {@link Exchange#respondStream} is called by a thread that may wait, and returns when all is sent.
     */
    default boolean waits() {
        return false;
    }

    /**
     * Puts the next bytes into a buffer: as many as fit, or fewer where finding more takes long, so that the thread can
     * turn to others before it calls again.
     *
     * @return number of bytes put; may be 0 before the end too
     */
    int read(byte[] buffer, int offset, int length);

    /** Whether everything was read. */
    boolean isEnded();

    @Override
    void close();
}
