package lab.server.http;

/** The body of a request while it is being received. */
public interface IncomingBody {

    /**
     * Takes bytes as long as they belong to the body and there is room for them.
     *
     * @param buffer bytes from the connection
     * @param at     position of the first
     * @param end    position after the last
     * @return position after the last one taken
     */
    int take(byte[] buffer, int at, int end);

    /** Whether the last byte of it was taken. */
    boolean isComplete();

    /** What was received, if it is complete and was kept. */
    byte[] bytes();
}
