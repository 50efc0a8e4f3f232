package lab.stress;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import lab.storage.conformance.Length;

/** Clients that write, delete and read a few keys over all nodes at once, and note what they saw. */
final class HistoryClients implements AutoCloseable {

    private static final int OK = 200;
    private static final int CREATED = 201;
    private static final int ACCEPTED = 202;
    private static final int NOT_FOUND = 404;
    private static final int TOO_FEW_REPLICAS = 504;
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    /** A frozen node holds up each client so long; short tests have others to wait for. */
    private static final Duration CLIENTS_TIMEOUT = Duration.ofMillis(Length.of(600, 2_000));
    /** Short tests leave the processor to the nodes that start meanwhile. */
    private static final int PAUSE_MS = Length.of(12, 2);

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT)
            .build();
    private final List<String> nodes;
    private final Queue<Operation> history = new ConcurrentLinkedQueue<>();
    private final AtomicLong values = new AtomicLong();
    private final AtomicInteger acknowledgedWrites = new AtomicInteger();
    private final List<Thread> threads = new ArrayList<>();
    /** What a write comes to that too few replicas took. */
    private final Operation.Outcome refused;
    private volatile boolean stopped;

    /**
     * @param nodes       addresses of all nodes
     * @param clocksAgree whether a write that was refused is ordered by the time of its request; else it may win against
     *                    later ones, as one without a response
     */
    HistoryClients(List<String> nodes, boolean clocksAgree) {
        this.nodes = nodes;
        this.refused = clocksAgree ? Operation.Outcome.REFUSED : Operation.Outcome.UNKNOWN;
    }

    /** Starts clients on some keys; {@link #stop()} ends them. */
    void start(int clients, List<String> keys, long seed) {
        stopped = false;
        threads.clear();
        for (int client = 0; client < clients; client++) {
            Random random = new Random(seed + client);
            threads.add(Thread.ofPlatform().name("client-" + client).start(() -> run(keys, random)));
        }
    }

    /** Ends the clients and gives what they saw since the last time. */
    List<Operation> stop() throws InterruptedException {
        stopped = true;
        for (Thread thread : threads) {
            thread.join();
        }
        List<Operation> seen = new ArrayList<>(history);
        history.clear();
        return seen;
    }

    /** Writes acknowledged so far. */
    int acknowledgedWrites() {
        return acknowledgedWrites.get();
    }

    private void run(List<String> keys, Random random) {
        while (!stopped) {
            String node = nodes.get(random.nextInt(nodes.size()));
            String key = keys.get(random.nextInt(keys.size()));
            int dice = random.nextInt(20);
            Operation.Kind kind = dice < 8 ? Operation.Kind.PUT : dice < 11 ? Operation.Kind.DELETE : Operation.Kind.GET;
            Operation done = ask(node, kind, key, "", CLIENTS_TIMEOUT);
            history.add(done);
            if (done.isWrite() && done.outcome() == Operation.Outcome.DONE) {
                acknowledgedWrites.incrementAndGet();
            }
            try {
                Thread.sleep(PAUSE_MS);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** One read that wants a response of every replica. */
    Operation readAll(String node, String key) {
        return ask(node, Operation.Kind.GET, key, "&ack=" + nodes.size(), TIMEOUT);
    }

    /** One write. */
    Operation put(String node, String key, String parameters) {
        return ask(node, Operation.Kind.PUT, key, parameters, TIMEOUT);
    }

    private Operation ask(String node, Operation.Kind kind, String key, String parameters, Duration timeout) {
        String value = kind == Operation.Kind.PUT ? "value-" + values.incrementAndGet() : null;
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(node + "/v0/entity?id=" + key + parameters))
                .timeout(timeout);
        switch (kind) {
            case PUT -> request.PUT(HttpRequest.BodyPublishers.ofString(value));
            case DELETE -> request.DELETE();
            default -> request.GET();
        }
        long start = System.nanoTime();
        try {
            HttpResponse<String> response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
            long end = System.nanoTime();
            return switch (response.statusCode()) {
                case OK -> new Operation(kind, key, response.body(), start, end, Operation.Outcome.DONE);
                case CREATED, ACCEPTED, NOT_FOUND ->
                        new Operation(kind, key, value, start, end, Operation.Outcome.DONE);
                case TOO_FEW_REPLICAS -> new Operation(kind, key, value, start, end, refused);
                default -> throw new AssertionError(kind + " of " + key + " got " + response.statusCode() + ": "
                        + response.body());
            };
        } catch (ConnectException e) {
            return new Operation(kind, key, value, start, System.nanoTime(), Operation.Outcome.NEVER_SENT);
        } catch (IOException e) {
            return new Operation(kind, key, value, start, System.nanoTime(), Operation.Outcome.UNKNOWN);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Operation(kind, key, value, start, System.nanoTime(), Operation.Outcome.UNKNOWN);
        }
    }

    @Override
    public void close() {
        stopped = true;
        threads.forEach(Thread::interrupt);
        http.shutdownNow();
        http.close();
    }
}
