package lab.server.http;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import lab.server.api.Exchange;
import lab.server.api.Method;
import lab.server.api.Status;
import lab.server.execution.Dispatcher;
import lab.server.execution.Job;

/** An exchange over a connection of ours: what was asked, from its bytes, and the response as bytes. */
public interface WireExchange extends Exchange, Job {

    /** What responds to an exchange. */
    interface Work {
        /** Responds; throws if the connection is broken. */
        void on(Exchange exchange) throws IOException;
    }

    /** What serves the requests. */
    Dispatcher dispatcher();

    /** Has this exchange responded to; sees to it that no failure leaves the client waiting. */
    void perform(Work work);

    @Override
    default void handle() {
        perform(dispatcher()::serve);
    }

    @Override
    default void refuse() {
        perform(dispatcher()::respondRefused);
    }

    @Override
    default void expire() {
        perform(dispatcher()::respondExpired);
    }

    /** The request that is being handled. */
    ReceivedRequest request();

    /** Sends a whole response. */
    void deliver(byte[] response) throws IOException;

    /** The request to respond to. */
    default ReceivedRequest pending() {
        if (hasResponse()) {
            throw new IllegalStateException("This request already has a response.");
        }
        return request();
    }

    @Override
    default Method method() {
        return request().method();
    }

    @Override
    default String target() {
        return request().target();
    }

    @Override
    default boolean internal() {
        return request().isInternal();
    }

    @Override
    default MemorySegment body() {
        return request().body();
    }

    @Override
    default void respond(Status status) throws IOException {
        deliver(Heads.empty(status, pending().keepAlive()));
    }

    @Override
    default void respond(Status status, String text) throws IOException {
        deliver(Heads.response(pending(), status, Heads.TEXT, (text + "\n").getBytes(StandardCharsets.UTF_8)));
    }

    @Override
    default void respondMethodNotAllowed(String allow) throws IOException {
        deliver(Heads.response(pending(), Status.METHOD_NOT_ALLOWED, "Allow: " + allow + "\r\n", new byte[0]));
    }

    @Override
    default void respondJson(String json) throws IOException {
        deliver(Heads.response(pending(), Status.OK, Heads.JSON, json.getBytes(StandardCharsets.UTF_8)));
    }

    @Override
    default void respondValue(MemorySegment value) throws IOException {
        deliver(Heads.ok(pending(), value));
    }
}
