package lab.server.onenio;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lab.server.api.BodyMemory;
import lab.server.api.Status;
import lab.server.execution.Dispatcher;
import lab.server.http.Limits;
import one.nio.http.Response;
import one.nio.net.Socket;

/**
 * A connection that responds with one-nio's {@link Response} as the published servers did: the status line and each field
 * are texts, and the field {@code Connection} is added when the response is sent.
 *
 * <p>It is added to the object that was given. Where that is one object for all requests, its list of fields, and so each
 * response, is longer by one field than the last; and threads change it at the same time, for nothing guards it. Both are
 * kept as they were: they are what is to be seen.
 */
final class PublishedSession extends KeyValueSession {

    private static final Response[] SHARED = new Response[Status.values().length];

    static {
        for (Status status : Status.values()) {
            SHARED[status.ordinal()] = response(status, Response.EMPTY);
        }
    }

    private final boolean shared;

    PublishedSession(Socket socket, KeyValueServer owner, Limits limits, BodyMemory.Rooms rooms, Dispatcher dispatcher,
            boolean shared) {
        super(socket, owner, limits, rooms, dispatcher);
        this.shared = shared;
    }

    @Override
    public void respond(Status status) throws IOException {
        send(shared ? SHARED[status.ordinal()] : response(status, Response.EMPTY));
    }

    @Override
    public void respondValue(MemorySegment value) throws IOException {
        send(response(Status.OK, value.toArray(ValueLayout.JAVA_BYTE)));
    }

    private void send(Response response) throws IOException {
        response.addHeader(pending().keepAlive() ? "Connection: Keep-Alive" : "Connection: close");
        deliver(response.toBytes(!request().isHead()));
    }

    private static Response response(Status status, byte[] body) {
        return new Response(status.code() + " " + status.reason(), body);
    }
}
