package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What waits, what is refused and what is given up when handlers are slower than requests come. */
class OverloadTest {

    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final String GET_HELD = "GET /v0/entity?id=" + HeldStorage.HELD + " HTTP/1.1\r\nHost: test\r\n\r\n";

    private final HeldStorage storage = new HeldStorage();
    private final List<RawClient> clients = new ArrayList<>();
    private TestServer server;

    private void start(String... flags) {
        server = TestServer.start(storage, flags);
    }

    private RawClient client() throws IOException {
        RawClient client = new RawClient(server.port());
        clients.add(client);
        return client;
    }

    private RawClient sends(String request) throws IOException {
        RawClient client = client();
        client.send(request);
        return client;
    }

    private static String put(String value) {
        return "PUT /v0/entity?id=key HTTP/1.1\r\nHost: test\r\nContent-Length: " + value.length() + "\r\n\r\n" + value;
    }

    @AfterEach
    void stop() throws IOException {
        storage.letGo();
        for (RawClient client : clients) {
            client.close();
        }
        server.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"one-nio", "jdk"})
    void fullQueueIsA503AndCountedAndTheStatusIsStillTold(String front) throws Exception {
        start("--front", front, "--execution", "pool", "--pool-threads", "1", "--queue-size", "2");
        RawClient served = sends(GET_HELD);
        storage.awaitHeld(1);
        RawClient second = sends(put("2"));
        server.awaitCounter("queue_depth", 1);
        RawClient third = sends(put("3"));
        server.awaitCounter("queue_depth", 2);
        RawClient refused = client();
        for (int i = 1; i <= 3; i++) {
            RawClient.Response response = refused.ask("GET", "/v0/entity?id=key");
            assertEquals(503, response.status());
            assertNotNull(response.fields().get("retry-after"));
            assertEquals(i, server.counter("rejected"));
        }
        storage.letGo();
        assertEquals(404, served.read().status());
        assertEquals(201, second.read().status());
        assertEquals(201, third.read().status());
        assertEquals("3", refused.ask("GET", "/v0/entity?id=key").text());
        assertEquals(0, server.counter("expired"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"array", "linked", "lifo"})
    void requestThatWaitedTooLongIsA503AndNotServed(String queue) throws Exception {
        start("--execution", "pool", "--pool-threads", "1", "--queue", queue, "--deadline-ms", "40");
        // On a busy machine the thread may come too late for a request that it is free for; then the client asks again.
        RawClient held = sends(GET_HELD);
        while (!storage.isHeldWithin(10)) {
            if (held.hasInput()) {
                assertEquals(503, held.read().status());
                held.send(GET_HELD);
            }
        }
        long before = server.counter("expired");
        // The only thread is held, so it cannot be the one that serves these.
        RawClient late = sends(put("late"));
        RawClient later = sends(put("later"));
        assertEquals(503, late.read().status());
        assertEquals(503, later.read().status());
        assertEquals(before + 2, server.counter("expired"));
        storage.letGo();
        assertEquals(404, held.read().status());
        int served;
        do {
            served = late.ask("GET", "/v0/entity?id=key").status();
        } while (served == 503);
        assertEquals(404, served);
        assertEquals(0, server.counter("rejected"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"array", "linked", "lifo"})
    void queueDecidesWhoIsNext(String queue) throws Exception {
        start("--execution", "pool", "--pool-threads", "1", "--queue", queue);
        RawClient held = sends(GET_HELD);
        storage.awaitHeld(1);
        RawClient older = sends(put("older"));
        server.awaitCounter("queue_depth", 1);
        RawClient newer = sends(put("newer"));
        server.awaitCounter("queue_depth", 2);
        storage.letGo();
        assertEquals(404, held.read().status());
        assertEquals(201, older.read().status());
        assertEquals(201, newer.read().status());
        // Who comes last has the last word.
        assertEquals(queue.equals("lifo") ? "older" : "newer", older.ask("GET", "/v0/entity?id=key").text());
    }

    @Test
    void virtualThreadsHaveABound() throws Exception {
        start("--execution", "virtual", "--queue-size", "2");
        RawClient first = sends(GET_HELD);
        RawClient second = sends(GET_HELD);
        storage.awaitHeld(2);
        RawClient refused = client();
        assertEquals(503, refused.ask("GET", "/v0/entity?id=key").status());
        assertEquals(1, server.counter("rejected"));
        storage.letGo();
        assertEquals(404, first.read().status());
        assertEquals(404, second.read().status());
        // The response is sent before its thread has ended.
        assertTimeoutPreemptively(PATIENCE, () -> {
            while (refused.ask("GET", "/v0/entity?id=key").status() == 503) {
                Thread.sleep(1);
            }
        });
    }

    @Test
    void requestWhoseClientHasGoneIsNotServed() throws Exception {
        start("--execution", "pool", "--pool-threads", "1");
        RawClient held = sends(GET_HELD);
        storage.awaitHeld(1);
        try (RawClient gone = sends(put("gone"))) {
            server.awaitCounter("queue_depth", 1);
            // Bytes that nobody reads make the close a reset, which the server sees at once.
            gone.send("x");
        }
        storage.letGo();
        assertEquals(404, held.read().status());
        assertEquals(201, held.ask("PUT", "/v0/entity?id=other", new byte[1]).status());
    }

    @Test
    void stoppingRespondsToNobodyTwiceAndEndsTheThreads() throws Exception {
        start("--execution", "pool", "--pool-threads", "2", "--queue", "lifo", "--deadline-ms", "60000");
        sends(GET_HELD);
        sends(GET_HELD);
        storage.awaitHeld(2);
        sends(put("waits"));
        server.awaitCounter("queue_depth", 1);
        Thread stopper = Thread.ofPlatform().start(server::close);
        storage.letGo();
        stopper.join();
        assertTrue(Thread.getAllStackTraces().keySet().stream().noneMatch(thread ->
                thread.getName().startsWith("worker-") && thread.isAlive()));
    }
}
