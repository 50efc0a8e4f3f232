package lab.server.api;

import java.util.Map;

/**
 * What carries HTTP requests to the API and the responses back. The port is bound when a front is made; it serves from
 * {@link #start()} on.
 */
public interface Front extends AutoCloseable {

    /** Begins to serve. */
    void start();

    /** Responses sent so far, with any status. */
    long responses();

    /** Connections that are open now. */
    int connections();

    /** Facts about the transport for the ready line; names carry units. */
    Map<String, Object> facts();

    /** Stops serving and closes every connection. Requests that are being handled go on, unheard. */
    @Override
    void close();
}
