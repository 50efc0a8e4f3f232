package lab.server.execution;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import lab.server.api.Exchange;
import lab.server.api.KeyValueApi;
import lab.server.api.Status;

/** Takes requests from a front to the API by way of an execution, refuses those it has no room for, and counts. */
public final class Dispatcher {

    private final KeyValueApi api;
    private final Execution execution;
    private final LongAdder served = new LongAdder();
    private final LongAdder refused = new LongAdder();

    /**
     * @param execution not closed by this object
     */
    public Dispatcher(KeyValueApi api, Execution execution) {
        this.api = api;
        this.execution = execution;
    }

    /** Where requests are handled. */
    public Execution execution() {
        return execution;
    }

    /**
     * Has a request handled or refused; returns before, after or while that is done. What other nodes ask is handled on
     * this thread: their threads may wait for it, and here never wait for them, so there is no circle; and one connection
     * carries many of these requests, which a hand-off each would make slower than they come.
     */
    public <R extends Exchange & Job> void dispatch(R request) {
        if (KeyValueApi.isServedAtOnce(request) || request.internal()) {
            request.handle();
        } else if (!execution.execute(request)) {
            refused.increment();
            request.refuse();
        }
    }

    /** The work of {@link Job#handle()}. */
    public void serve(Exchange exchange) throws IOException {
        served.increment();
        api.handle(exchange);
    }

    /** The work of {@link Job#refuse()}. */
    public void respondRefused(Exchange exchange) throws IOException {
        exchange.respond(Status.UNAVAILABLE, "More requests wait than the server takes. Come again later, or start it "
                + "with a larger --queue-size or more --pool-threads.");
    }

    /** The work of {@link Job#expire()}. */
    public void respondExpired(Exchange exchange) throws IOException {
        exchange.respond(Status.UNAVAILABLE, "The request waited longer than --deadline-ms for a thread and was not "
                + "served. Come again later.");
    }

    /** Counters for the status. */
    public Map<String, Object> counters() {
        Map<String, Object> counters = new LinkedHashMap<>();
        counters.put("served", served.sum());
        counters.put("rejected", refused.sum());
        counters.put("expired", execution.expired());
        counters.put("queue_depth", execution.queueDepth());
        return counters;
    }
}
