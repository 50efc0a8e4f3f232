package lab.server.cluster;

import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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

    /**
     * @param threads  threads that read answers and go on with them
     * @param maxCalls calls that may be under way to one node; without a bound a slow node would fill the heap
     */
    JdkAsyncTransport(int threads, int timeoutMs, int maxCalls) {
        this.threads = Executors.newFixedThreadPool(threads,
                Thread.ofPlatform().daemon().name("peer-answer-", 0).factory());
        this.client = JdkCaller.client(timeoutMs).executor(this.threads).build();
        this.timeoutMs = timeoutMs;
        this.maxCalls = maxCalls;
    }

    @Override
    public PeerClient to(String url) {
        JdkCaller caller = new JdkCaller(client, url, timeoutMs);
        Semaphore room = new Semaphore(maxCalls);
        rooms.add(room);
        return call -> send(caller, room, call);
    }

    private static void send(JdkCaller caller, Semaphore room, PeerCall call) {
        if (!room.tryAcquire()) {
            call.fail(PeerFailure.OVERLOADED);
            return;
        }
        caller.askLater(call).whenComplete((response, failure) -> {
            try {
                end(call, response, failure);
            } finally {
                room.release();
            }
        });
    }

    private static void end(PeerCall call, HttpResponse<byte[]> response, Throwable failure) {
        if (failure == null) {
            call.end(response.statusCode(), response.body());
            return;
        }
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        call.fail(cause instanceof HttpTimeoutException ? PeerFailure.TIMED_OUT : PeerFailure.UNREACHABLE);
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
