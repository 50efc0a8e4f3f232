package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import lab.server.api.AsPublished;
import lab.server.api.Entities;
import lab.server.api.Exchange;
import lab.server.api.KeyValueApi;
import lab.server.api.LocalEntities;
import lab.server.api.Responder;
import lab.server.execution.Dispatcher;
import lab.server.execution.Execution;
import lab.server.execution.ExecutionKind;
import lab.server.execution.ExecutionSettings;
import lab.server.execution.QueueKind;
import lab.server.http.Limits;
import lab.server.onenio.KeyValueServer;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.conformance.FreePort;
import lab.storage.conformance.Length;
import lab.storage.memory.MemoryStorage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests whose response comes later, from other threads, get it in order, each once, and harm no other connection. */
class LaterResponseTest {

    private static final int REQUESTS = 2_000;

    private final ExecutorService threads = Executors.newFixedThreadPool(4);
    private final Responder responder = new Responder();
    private final AtomicInteger handled = new AtomicInteger();
    private KeyValueServer server;
    private int port;
    private RawClient client;

    @BeforeEach
    void start() throws IOException {
        KeyValueApi api = new KeyValueApi(new LaterEntities(), responder, () -> "{}", () -> "{}", 1_000);
        port = FreePort.next();
        Execution execution = ExecutionKind.SELECTOR.create(new ExecutionSettings(1, QueueKind.ARRAY, 1, 0));
        server = new KeyValueServer(new KeyValueServer.Address("127.0.0.1", port, 1, 16),
                new Limits(1_000_000, 100_000, 0, 0, 0, null), new Dispatcher(api, execution), AsPublished.NOTHING);
        server.start();
        client = new RawClient(port);
    }

    @AfterEach
    void stop() throws IOException {
        client.close();
        server.stop();
        threads.close();
    }

    @Test
    void requestsSentAtOnceGetResponsesInOrder() throws Exception {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < REQUESTS; i++) {
            String value = "value".repeat(i % 100) + i;
            all.append("PUT /v0/entity?id=k").append(i).append(" HTTP/1.1\r\nHost: test\r\nContent-Length: ").append(value.length())
                    .append("\r\n\r\n").append(value);
            all.append("GET /v0/entity?id=k").append(i).append(" HTTP/1.1\r\nHost: test\r\n\r\n");
        }
        all.append("GET /v0/entities?start=k HTTP/1.1\r\nHost: test\r\n\r\n"
                + "GET /v0/entity?id=none HTTP/1.1\r\nHost: test\r\n\r\n");
        Thread sender = Thread.ofVirtual().start(() -> {
            try {
                client.send(all.toString());
            } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        });
        for (int i = 0; i < REQUESTS; i++) {
            assertEquals(201, client.read().status());
            assertEquals("value".repeat(i % 100) + i, client.read().text());
        }
        assertTrue(client.read().body().length > REQUESTS);
        assertEquals(404, client.read().status());
        sender.join();
    }

    @Test
    void clientThatClosesItsHalfGetsItsResponses() throws Exception {
        for (int i = 0; i < 200; i++) {
            try (RawClient other = new RawClient(port)) {
                other.send("PUT /v0/entity?id=half HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\nx"
                        + "GET /v0/entity?id=half HTTP/1.1\r\nHost: test\r\n\r\n");
                other.endOutput();
                assertEquals(201, other.read().status());
                assertEquals("x", other.read().text());
                assertTrue(other.isEnded());
            }
        }
    }

    @Test
    void clientThatGoesAwayBeforeItsResponseHarmsNobody() throws Exception {
        int clients = Length.of(60, 200);
        for (int i = 0; i < clients; i++) {
            try (RawClient gone = new RawClient(port)) {
                gone.send("GET /v0/entity?id=slow HTTP/1.1\r\nHost: test\r\n\r\n".repeat(3));
            }
        }
        assertEquals(404, client.ask("GET", "/v0/entity?id=slow").status());
        assertEquals(0, responder.failures());
    }

    @Test
    void keyThatIsTooLongIsRefused() throws Exception {
        assertEquals(413, client.ask("GET", "/v0/entity?id=" + "k".repeat(1_001)).status());
    }

    @Test
    void failureOfALaterResponseIsA500() throws Exception {
        assertEquals(500, client.ask("DELETE", "/v0/entity?id=a").status());
        assertEquals(404, client.ask("GET", "/v0/entity?id=a").status());
        assertEquals(1, responder.failures());
    }

    @Test
    void connectionIsClosedAfterALaterResponseIfTheClientAsks() throws Exception {
        client.send("GET /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        assertEquals("close", client.read().fields().get("connection"));
        assertTrue(client.isEnded());
    }

    /** Responds to some requests at once and most of them on another thread, some a little later. */
    private final class LaterEntities implements Entities {

        private final MemoryStorage storage = new MemoryStorage();
        private final LocalEntities local = new LocalEntities(storage);

        private void later(Exchange exchange, Responder.Action action) throws IOException {
            if (handled.incrementAndGet() % 7 == 0) {
                responder.respond(exchange, action);
                return;
            }
            threads.execute(() -> {
                try {
                    if (ThreadLocalRandom.current().nextInt(10) == 0) {
                        Thread.sleep(0, 100_000);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                responder.respondLater(exchange, action);
            });
        }

        @Override
        public void get(Exchange exchange, byte[] key, int from, int ack) throws IOException {
            later(exchange, () -> local.get(exchange, key, from, ack));
        }

        @Override
        public void put(Exchange exchange, byte[] key, int from, int ack) throws IOException {
            later(exchange, () -> local.put(exchange, key, from, ack));
        }

        @Override
        public void delete(Exchange exchange, byte[] key, int from, int ack) throws IOException {
            later(exchange, () -> {
                throw new IllegalStateException("the later response of " + Bytes.text(MemorySegment.ofArray(key)) + " fails");
            });
        }

        @Override
        public Cursor range(byte[] start, byte[] end) {
            return local.range(start, end);
        }
    }
}
