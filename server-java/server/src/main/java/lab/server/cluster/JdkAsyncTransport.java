package lab.server.cluster;

import java.net.http.HttpClient;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import lab.server.api.ClusterSecret;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The JDK's client without waiting: a call takes no thread while the other node works on it. */
final class JdkAsyncTransport implements PeerTransport {

    private static final Logger LOG = LoggerFactory.getLogger(JdkAsyncTransport.class);
    private static final int STOP_TIMEOUT_S = 10;

    private final List<Semaphore> rooms = new CopyOnWriteArrayList<>();
    private final ExecutorService threads;
    private final HttpClient client;
    private final int timeoutMs;
    private final int maxCalls;
    private final ClusterSecret secret;

    /**
     * @param threads  threads that read responses and go on with them
     * @param maxCalls calls that may be under way to one node; without a bound a slow node would fill the heap
     * @param secret   proves to the other nodes that a node calls
     */
    JdkAsyncTransport(int threads, int timeoutMs, int maxCalls, ClusterSecret secret) {
        this.threads = Executors.newFixedThreadPool(threads,
                Thread.ofPlatform().daemon().name("peer-response-", 0).factory());
        this.client = JdkCaller.client(timeoutMs).executor(this.threads).build();
        this.timeoutMs = timeoutMs;
        this.maxCalls = maxCalls;
        this.secret = secret;
    }

    @Override
    public PeerClient to(String url) {
        JdkCaller caller = new JdkCaller(client, url, timeoutMs, secret);
        Semaphore room = new Semaphore(maxCalls);
        rooms.add(room);
        return call -> send(caller, room, call);
    }

    private static void send(JdkCaller caller, Semaphore room, PeerCall call) {
        if (!room.tryAcquire()) {
            call.fail(PeerFailure.OVERLOADED);
            return;
        }
        ask(caller, room, call);
    }

    private static void ask(JdkCaller caller, Semaphore room, PeerCall call) {
        caller.askLater(call).whenComplete((response, exception) -> {
            PeerFailure failure = exception == null ? null : PeerFailure.of(exception);
            if (failure == PeerFailure.UNREACHABLE && call.takeSecondTry()) {
                // A connection out of the pool may be one to the node before its restart.
                ask(caller, room, call);
                return;
            }
            try {
                if (failure == null) {
                    call.end(response.statusCode(), response.body());
                } else {
                    call.fail(failure);
                }
            } finally {
                room.release();
            }
        });
    }

    @Override
    public void close() {
        client.shutdownNow();
        client.close();
        threads.close();
        try {
            // The client goes on with its callers on a pool that is not ours, so only their calls tell when it is done.
            for (Semaphore room : rooms) {
                if (!room.tryAcquire(maxCalls, STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
                    LOG.warn("A call to another node did not end within {} s", STOP_TIMEOUT_S);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
