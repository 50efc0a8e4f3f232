package lab.server.api;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * One request and the way to respond to it, over any transport. Exactly one of the {@code respond} methods is called, once:
 * by the thread that handles the request, or later by any other. Until then the request can be read. Once it has a response
 * and the handler has returned, the object may stand for another one; so only the handler itself may ask
 * {@link #hasResponse()}.
 *
 * <p>They throw {@link IOException} if the connection is broken; then no other response is possible. Whoever responds later
 * says so with {@link #abort}; {@link Responder} does it.
 */
public interface Exchange {

    /** Header field with which a node proves by a {@link ClusterSecret} that a request is from inside the cluster. */
    String INTERNAL_FIELD = "Lab-Internal";
    /** Says why a request with that field and another value is refused. */
    String INTERNAL_REFUSED = "The header field " + INTERNAL_FIELD + " is for nodes of one cluster and does not hold its "
            + "secret. Leave it out, or give all nodes the same --cluster-secret-file.";
    /** The body of such a request may be longer than the largest value by what nodes add to it. */
    int INTERNAL_EXTRA_BYTES = 16;

    /** What is to be done; that of a HEAD is GET, for the transport leaves the body out. */
    Method method();

    /** Path and query as they were sent, still percent-encoded; a character for each byte. */
    String target();

    /** Whether another node of the cluster sent it, as its secret proves; then it must not be sent on. */
    boolean internal();

    /** Body of the request; empty if it has none. The bytes belong to whoever asks and are not changed later. */
    MemorySegment body();

    /** Whether one of the {@code respond} methods was called for this request. */
    boolean hasResponse();

    /** Responds without a body. */
    void respond(Status status) throws IOException;

    /** Responds with a text, which says what was wrong and what to do. */
    void respond(Status status, String text) throws IOException;

    /**
     * Responds with 405.
     *
     * @param allow the methods that the path knows, separated by commas
     */
    void respondMethodNotAllowed(String allow) throws IOException;

    /** Responds with JSON. */
    void respondJson(String json) throws IOException;

    /**
     * Responds with 200 and a value.
     *
     * @param value copied before this method returns
     */
    void respondValue(MemorySegment value) throws IOException;

    /**
     * Responds with 200 and a body that is read little by little, as fast as the client takes it.
     *
     * @param body closed by the exchange in every case, also if this method throws
     */
    void respondStream(Body body) throws IOException;

    /**
     * Ends the connection, because the response could not be sent. Does nothing if it has ended already.
     *
     * @param cause logged unless it only says that the client has gone
     */
    void abort(Throwable cause);
}
