package lab.server.cluster;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Another node, as this one sees it. A circuit breaker: after one call that timed out or found no connection the node is
 * set aside, and calls fail at once; probes in the background find out when it is back. So a node that is down costs a
 * caller at most one time-out, and after that nobody pays for finding out.
 */
final class Peer {

    private static final Logger LOG = LoggerFactory.getLogger(Peer.class);

    private final String url;
    private final PeerClient client;
    private final ScheduledExecutorService prober;
    private final int retryMs;
    private final LatencyCounts latency = new LatencyCounts();
    private final LongAdder calls = new LongAdder();
    private final LongAdder[] failures = new LongAdder[PeerFailure.values().length];
    private volatile boolean aside;
    /** Calls that began before say nothing about the node of now. */
    private volatile long restoredNanos = System.nanoTime();

    /**
     * @param prober  runs the probes
     * @param retryMs time between probes of a node that is set aside
     */
    Peer(String url, PeerClient client, ScheduledExecutorService prober, int retryMs) {
        this.url = url;
        this.client = client;
        this.prober = prober;
        this.retryMs = retryMs;
        for (int i = 0; i < failures.length; i++) {
            failures[i] = new LongAdder();
        }
    }

    /** Sends a call, unless the node is set aside. */
    void send(PeerCall call) {
        calls.increment();
        call.start(this, System.nanoTime());
        if (aside) {
            call.fail(PeerFailure.SET_ASIDE);
        } else {
            client.send(call);
        }
    }

    /** Whether calls fail at once. */
    boolean isAside() {
        return aside;
    }

    /** Told by each call when it ends. */
    void ended(PeerCall call, PeerFailure failure) {
        if (failure == null) {
            latency.record(System.nanoTime() - call.startNanos());
            return;
        }
        failures[failure.ordinal()].increment();
        if (failure.doubtful() && call.startNanos() - restoredNanos >= 0 && call.kind() != PeerCall.Kind.PROBE) {
            setAside(failure);
        }
    }

    private void setAside(PeerFailure failure) {
        synchronized (this) {
            if (aside) {
                return;
            }
            aside = true;
        }
        LOG.warn("{} is set aside ({}); it is probed every {} ms", url, failure.key(), retryMs);
        probeLater();
    }

    private void probeLater() {
        try {
            prober.schedule(() -> {
                Probe probe = new Probe();
                probe.start(this, System.nanoTime());
                client.send(probe);
            }, retryMs, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("{} is not probed any more: this node stops", url);
        }
    }

    private void restore() {
        restoredNanos = System.nanoTime();
        aside = false;
        LOG.info("{} is back", url);
    }

    /** Counters and latency, for {@code /v0/status}. */
    Map<String, Object> status() {
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("url", url);
        status.put("state", aside ? "set aside" : "up");
        status.put("calls", calls.sum());
        status.put("answered", latency.count());
        Map<String, Object> failed = new LinkedHashMap<>();
        for (PeerFailure failure : PeerFailure.values()) {
            failed.put(failure.key(), failures[failure.ordinal()].sum());
        }
        status.put("failed", failed);
        status.put("latency_us", latency.summaryUs());
        return status;
    }

    private final class Probe extends PeerCall {

        private static final long serialVersionUID = 1L;

        Probe() {
            super(Kind.PROBE, null, null);
        }

        @Override
        void answered(byte[] found) {
            restore();
        }

        @Override
        void failed(PeerFailure failure) {
            probeLater();
        }
    }
}
