package lab.server.cluster;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Another node, as this one sees it. A circuit breaker: after one call that timed out the node is set aside, and calls
 * fail at once; probes in the background find out when it is back. So a node that keeps silent costs a caller at most one
 * time-out, and after that nobody pays for finding out. A node that refuses connections is not set aside, for each call
 * finds that out at once, and finds the node as soon as it is back.
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
    private volatile boolean unreachable;
    /** Whether probes follow each other; they end when one finds that the node is not set aside. */
    private boolean probed;
    /** Whether there is a probe in addition to those that follow each other. */
    private final AtomicBoolean probedAtOnce = new AtomicBoolean();
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

    String url() {
        return url;
    }

    /** Sends a call, unless the node is set aside. */
    void send(PeerCall call) {
        if (call.kind().isCounted()) {
            calls.increment();
        }
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

    /** Takes note of how a call ended. */
    void ended(PeerCall call, PeerFailure failure) {
        boolean counted = call.kind().isCounted();
        if (failure == null) {
            if (counted) {
                latency.record(System.nanoTime() - call.startNanos());
            }
            if (unreachable) {
                unreachable = false;
            }
            return;
        }
        if (counted) {
            failures[failure.ordinal()].increment();
        }
        if (failure == PeerFailure.UNREACHABLE) {
            unreachable = true;
        } else if (failure == PeerFailure.TIMED_OUT && call.startNanos() - restoredNanos >= 0
                && call.kind() != PeerCall.Kind.PROBE) {
            setAside();
        }
    }

    private synchronized void setAside() {
        if (aside) {
            return;
        }
        aside = true;
        LOG.warn("{} did not respond in time and is set aside; it is probed every {} ms", url, retryMs);
        if (!probed) {
            probed = true;
            probeLater();
        }
    }

    private void probeLater() {
        prober(() -> prober.schedule(() -> {
            if (goesOn()) {
                probe(true);
            }
        }, retryMs, TimeUnit.MILLISECONDS));
    }

    private synchronized boolean goesOn() {
        probed = aside;
        return aside;
    }

    private void prober(Runnable work) {
        try {
            work.run();
        } catch (RejectedExecutionException e) {
            LOG.debug("{} is not probed any more: this node stops", url);
        }
    }

    private void probe(boolean repeats) {
        Probe probe = new Probe(repeats);
        probe.start(this, System.nanoTime());
        client.send(probe);
    }

    /** Takes note of a call by the node: if it is set aside, it is probed at once, for it may not hear us all the same. */
    void heard() {
        if (aside && probedAtOnce.compareAndSet(false, true)) {
            prober(() -> prober.execute(() -> probe(false)));
        }
    }

    /** Takes the node back, because it has responded or has just started. */
    synchronized void restore() {
        restoredNanos = System.nanoTime();
        unreachable = false;
        if (aside) {
            aside = false;
            LOG.info("{} is back", url);
        }
    }

    private String state() {
        return aside ? "set aside" : unreachable ? "unreachable" : "up";
    }

    /** Counters and latency, for {@code /v0/status}. */
    Map<String, Object> status() {
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("url", url);
        status.put("state", state());
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

        /** Whether another one follows if the node is still away. */
        private final boolean repeats;

        Probe(boolean repeats) {
            super(Kind.PROBE, null, null);
            this.repeats = repeats;
        }

        @Override
        void responded(byte[] stored) {
            restore();
            over();
        }

        @Override
        void failed(PeerFailure failure) {
            over();
        }

        private void over() {
            if (repeats) {
                // It finds out itself that the node is not set aside any more.
                probeLater();
            } else {
                probedAtOnce.set(false);
            }
        }
    }
}
