package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** What a client may not ask of a front, and what the response says. */
@ParameterizedClass
@ValueSource(strings = {"one-nio", "jdk"})
class LimitTest {

    private final String front;

    @TempDir
    private Path folder;

    LimitTest(String front) {
        this.front = front;
    }

    private TestServer start(String flag, String value) {
        return TestServer.start("memory", folder, "--front", front, flag, value);
    }

    @Test
    void limitsAreThereWithoutAFlag() {
        Options options = CommandLine.populateCommand(new Options(), "--engine", "memory");
        assertEquals(Math.min(10_000, OpenFiles.limit() - OpenFiles.BESIDES), options.network().limits(null).connections());
        assertEquals(60_000, options.network().limits(null).idleMs());
        assertEquals(30_000, options.network().limits(null).headMs());
    }

    @Test
    void connectionsAreFewerThanFilesMayBeOpen() {
        Options options = CommandLine.populateCommand(new Options(), "--engine", "memory", "--max-connections", "0");
        assertTrue(options.network().limits(null).connections() < OpenFiles.limit());
        assertTrue(options.network().limits(null).connections() > 0);
    }

    @Test
    void connectionAboveTheLimitIsServedAsLongAsAnotherIsIdle() throws Exception {
        int limit = Length.of(50, 10_000);
        int idle = limit + 50;
        OpenFiles.assumeRoomFor(2 * idle);
        List<RawClient> clients = new ArrayList<>();
        try (TestServer server = start("--max-connections", Integer.toString(limit))) {
            for (int i = 0; i < idle; i++) {
                clients.add(new RawClient(server.port()));
                if (i == 0 || i == idle - 2) {
                    // The first and the last are so by the milliseconds that the server counts.
                    Thread.sleep(10);
                }
            }
            try (RawClient other = new RawClient(server.port())) {
                assertEquals(200, other.ask("GET", "/v0/status").status());
            }
            // Who came last has been idle for less than the others.
            assertEquals(404, clients.getLast().ask("GET", "/v0/entity?id=a").status());
            assertTrue(clients.getFirst().isEnded());
        } finally {
            for (RawClient client : clients) {
                client.close();
            }
        }
    }

    @Test
    void connectionAboveTheLimitIsClosedWhereNoneIsIdle() throws Exception {
        List<RawClient> clients = new ArrayList<>();
        try (TestServer server = start("--max-connections", "3")) {
            for (int i = 0; i < 3; i++) {
                RawClient half = admitted(server);
                clients.add(half);
                half.send("GET /v0/entity?id=a HTTP/1.1\r\nHost: test\r\n\r\nGET /v0/entity?id=a HTTP/1.1\r\nHost: ");
                assertEquals(404, half.read().status());
            }
            try (RawClient tooMuch = new RawClient(server.port())) {
                assertThrows(IOException.class, () -> tooMuch.ask("GET", "/v0/entity?id=a"));
            }
            for (RawClient half : clients) {
                half.send("test\r\n\r\n");
                assertEquals(404, half.read().status());
            }
        } finally {
            for (RawClient client : clients) {
                client.close();
            }
        }
    }

    /** A client that got a response. The server notices a little late that a connection, also its own first one, is gone. */
    private static RawClient admitted(TestServer server) throws Exception {
        for (int i = 0; ; i++) {
            RawClient client = new RawClient(server.port());
            try {
                assertEquals(404, client.ask("GET", "/v0/entity?id=a").status());
                return client;
            } catch (IOException e) {
                client.close();
                assertTrue(i < 1_000, "there is still no room");
                Thread.sleep(5);
            }
        }
    }

    @Test
    void idleConnectionIsClosedAndBusyOnesAreNot() throws Exception {
        try (TestServer server = start("--idle-timeout-ms", "1000");
                RawClient idle = new RawClient(server.port()); RawClient half = new RawClient(server.port());
                RawClient busy = new RawClient(server.port())) {
            assertEquals(404, idle.ask("GET", "/v0/entity?id=a").status());
            half.send("GET /v0/ent");
            AtomicBoolean done = new AtomicBoolean();
            Thread asker = Thread.ofVirtual().start(() -> {
                try {
                    while (!done.get()) {
                        busy.ask("GET", "/v0/entity?id=a");
                    }
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            assertTrue(idle.isEnded());
            assertTrue(half.isEnded());
            done.set(true);
            asker.join();
            try (RawClient other = new RawClient(server.port())) {
                assertEquals(404, other.ask("GET", "/v0/entity?id=a").status());
            }
        }
    }

    @Test
    void headAboveTheLimitIsRefused() throws Exception {
        try (TestServer server = start("--max-head-bytes", "1024");
                RawClient client = new RawClient(server.port())) {
            assertEquals(404, client.ask("GET", "/v0/entity?id=" + "k".repeat(900)).status());
            RawClient.Response refused = client.ask("GET", "/v0/entity?id=" + "k".repeat(1_024));
            assertEquals(431, refused.status());
            assertTrue(refused.text().contains("--max-head-bytes"), refused.text());
            assertTrue(client.isEnded());
        }
    }

    @Test
    void chunkedBodiesLargerThanTheirShareOfTheHeapWaitForEachOther() throws Exception {
        int clients = 8;
        byte[] value = new byte[1 << 20];
        try (TestServer server = start("--max-value-bytes", "100000000")) {
            List<Thread> senders = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                String target = "/v0/entity?id=large" + i;
                senders.add(Thread.ofVirtual().start(() -> {
                    try (RawClient client = new RawClient(server.port())) {
                        client.putInChunks(target, value, 50_000);
                        assertEquals(201, client.read().status());
                    } catch (IOException e) {
                        throw new java.io.UncheckedIOException(e);
                    }
                }));
            }
            for (Thread sender : senders) {
                sender.join();
            }
            try (RawClient client = new RawClient(server.port())) {
                for (int i = 0; i < clients; i++) {
                    assertEquals(value.length, client.ask("GET", "/v0/entity?id=large" + i).body().length);
                }
            }
        }
    }
}
