package lab.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** What a connection does with bytes that come in any pieces, and when it stays open. */
@ParameterizedClass
@MethodSource("lab.server.Mode#onMemory")
class ConnectionTest {

    private static final int LIMIT_BYTES = 100_000;

    private final Mode mode;

    @TempDir
    private Path folder;
    private TestServer server;
    private RawClient client;

    ConnectionTest(Mode mode) {
        this.mode = mode;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.start("memory", folder, mode.flags("--max-value-bytes", Integer.toString(LIMIT_BYTES)));
        client = new RawClient(server.port());
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        server.close();
    }

    @Test
    void requestMayComeByteByByte() throws Exception {
        byte[] request = "\r\nPUT /v0/entity?id=slow HTTP/1.1\r\nHost: x\r\ncontent-LENGTH:  5 \r\n\r\nvalue"
                .getBytes(StandardCharsets.US_ASCII);
        for (byte b : request) {
            client.send(new byte[] {b});
        }
        assertEquals(201, client.read().status());
        assertEquals("value", client.ask("GET", "/v0/entity?id=slow").text());
    }

    @Test
    void manyRequestsMayComeAtOnce() throws Exception {
        int requests = 3_000;
        client.ask("PUT", "/v0/entity?id=key", new byte[20_000]);
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < requests; i++) {
            all.append("GET /v0/entity?id=key HTTP/1.1\r\nHost: test\r\n\r\n");
        }
        all.append("GET /v0/entity?id=none HTTP/1.1\r\nHost: test\r\n\r\n");
        // 60 MB of responses: the server must stop reading until they are taken.
        Thread sender = Thread.ofVirtual().start(() -> {
            try {
                client.send(all.toString());
            } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        });
        while (sender.isAlive() && sender.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        for (int i = 0; i < requests; i++) {
            RawClient.Response response = client.read();
            assertEquals(200, response.status());
            assertEquals(20_000, response.body().length);
        }
        assertEquals(404, client.read().status());
        sender.join();
    }

    @Test
    void responsesThatWaitForTheirReaderStayWhatTheyAreWhileOthersAreServed() throws Exception {
        int requests = 1_000;
        byte[] slow = new byte[20_000];
        new java.util.Random(1).nextBytes(slow);
        client.ask("PUT", "/v0/entity?id=slow", slow);
        client.ask("PUT", "/v0/entity?id=fast", new byte[30_000]);
        // 20 MB of responses, more than sockets take: each time that the server must stop, a response has been sent in part.
        Thread sender = Thread.ofVirtual().start(() -> {
            try {
                client.send("GET /v0/entity?id=slow HTTP/1.1\r\nHost: test\r\n\r\n".repeat(requests));
            } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        });
        for (int i = 0; i < requests; i++) {
            if (i % 50 == 0) {
                for (int other = 0; other < 4; other++) {
                    // A new connection may be on either selector.
                    try (RawClient fast = new RawClient(server.port())) {
                        assertArrayEquals(new byte[30_000], fast.ask("GET", "/v0/entity?id=fast").body());
                    }
                }
            }
            assertArrayEquals(slow, client.read().body());
        }
        sender.join();
    }

    @Test
    void bodyThatIsTooLargeIsRefusedAndTheConnectionGoesOn() throws Exception {
        assertEquals(201, client.ask("PUT", "/v0/entity?id=limit", new byte[LIMIT_BYTES]).status());
        RawClient.Response refused = client.ask("PUT", "/v0/entity?id=large", new byte[LIMIT_BYTES + 1]);
        assertEquals(413, refused.status());
        assertTrue(refused.text().contains("--max-value-bytes"), refused.text());
        assertEquals(413, client.ask("PUT", "/v0/entity?id=large", new byte[50 * LIMIT_BYTES]).status());
        assertEquals(404, client.ask("GET", "/v0/entity?id=large").status());
        assertEquals(200, client.ask("GET", "/v0/entity?id=limit").status());
    }

    @Test
    void lengthThatNoMachineHoldsIsRefused() throws Exception {
        client.send("PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999999999999999999\r\n\r\n");
        assertEquals(413, client.read().status());
        assertTrue(client.isEnded());
    }

    @Test
    void clientThatWaitsForContinueGetsItOrTheRefusal() throws Exception {
        client.send("PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        assertEquals(100, client.read().status());
        client.send("abc");
        assertEquals(201, client.read().status());
        client.send("PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\n");
        assertEquals(413, client.read().status());
        assertTrue(client.isEnded());
    }

    @Test
    void unreadableRequestsGetAResponseAndEndTheConnection() throws Exception {
        for (String request : new String[] {"nonsense\r\n\r\n", "GET /v0/status\r\n\r\n", "GET  HTTP/1.1\r\nHost: test\r\n\r\n",
                "PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nContent-Length: x\r\n\r\n",
                "PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nContent-Length: -1\r\n\r\n",
                "PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
            try (RawClient other = new RawClient(server.port())) {
                other.send(request);
                assertEquals(400, other.read().status(), request);
                assertTrue(other.isEnded(), request);
            }
        }
    }

    @Test
    void bodyMayComeInChunks() throws Exception {
        client.send("PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n00A;name=\"x\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n");
        assertEquals(201, client.read().status());
        assertEquals("abc0123456789", client.ask("GET", "/v0/entity?id=a").text());
        client.send("PUT /v0/entity?id=b HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        assertEquals(201, client.read().status());
        assertEquals("", client.ask("GET", "/v0/entity?id=b").text());
    }

    @Test
    void chunkedBodyMayHaveTheLimitAndNotMore() throws Exception {
        byte[] value = new byte[LIMIT_BYTES];
        new java.util.Random(3).nextBytes(value);
        client.putInChunks("/v0/entity?id=limit", value, 1_000);
        assertEquals(201, client.read().status());
        assertArrayEquals(value, client.ask("GET", "/v0/entity?id=limit").body());
        client.putInChunks("/v0/entity?id=large", new byte[3 * LIMIT_BYTES], 9_999);
        RawClient.Response refused = client.read();
        assertEquals(413, refused.status());
        assertTrue(refused.text().contains("--max-value-bytes"), refused.text());
        assertEquals(404, client.ask("GET", "/v0/entity?id=large").status());
    }

    @Test
    void chunksThatCannotBeReadEndTheConnectionWithAResponse() throws Exception {
        String head = "PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n";
        for (String request : new String[] {head + "\r\nxyz\r\n", head + "\r\n3\r\nabcd\r\n",
                head + "\r\nfffffffffffffffff\r\n", head + "\r\n\r\n",
                head + "Content-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                head.replace("1.1", "1.0") + "\r\n"}) {
            try (RawClient other = new RawClient(server.port())) {
                other.send(request);
                assertEquals(400, other.read().status(), request);
                assertTrue(other.isEnded(), request);
            }
        }
        assertEquals(404, client.ask("GET", "/v0/entity?id=a").status());
    }

    @Test
    void longKeysAreTakenAndTooLongHeadsRefused() throws Exception {
        String key = "k".repeat(50_000);
        assertEquals(201, client.ask("PUT", "/v0/entity?id=" + key, new byte[] {'v'}).status());
        assertEquals("v", client.ask("GET", "/v0/entity?id=" + key).text());
        client.sendIfOpen(("GET /v0/entity?id=" + "k".repeat(140_000)).getBytes(StandardCharsets.US_ASCII));
        assertEquals(431, client.read().status());
        try (RawClient other = new RawClient(server.port())) {
            other.sendIfOpen(("GET /v0/status HTTP/1.1\r\nHost: test\r\n"
                    + ("Field: " + "x".repeat(1_000) + "\r\n").repeat(200)).getBytes(StandardCharsets.US_ASCII));
            assertEquals(431, other.read().status());
        }
    }

    @Test
    void connectionStaysOpenAsTheClientAsks() throws Exception {
        RawClient.Response kept = client.ask("GET", "/v0/entity?id=a");
        assertTrue("keep-alive".equalsIgnoreCase(kept.fields().get("connection")));
        client.send("GET /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        assertEquals("close", client.read().fields().get("connection"));
        assertTrue(client.isEnded());
        try (RawClient old = new RawClient(server.port())) {
            old.send("GET /v0/entity?id=a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
            assertEquals(404, old.read().status());
            old.send("GET /v0/entity?id=a HTTP/1.0\r\n\r\n");
            assertEquals(404, old.read().status());
            assertTrue(old.isEnded());
        }
    }

    @Test
    void oldClientGetsTheRangeWithoutChunks() throws Exception {
        client.ask("PUT", "/v0/entity?id=a", new byte[90_000]);
        client.ask("PUT", "/v0/entity?id=b", new byte[] {'2'});
        try (RawClient old = new RawClient(server.port())) {
            old.send("GET /v0/entities?start=a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
            RawClient.Response response = old.read();
            assertFalse(response.fields().containsKey("transfer-encoding"));
            byte[] expected = new byte[90_005];
            System.arraycopy(new byte[] {'a', '\n'}, 0, expected, 0, 2);
            System.arraycopy(new byte[] {'b', '\n', '2'}, 0, expected, 90_002, 3);
            assertArrayEquals(expected, response.body());
        }
    }

    @Test
    void requestAfterARangeGetsItsResponseAfterIt() throws Exception {
        for (int i = 0; i < 100; i++) {
            client.ask("PUT", "/v0/entity?id=key" + i, new byte[LIMIT_BYTES]);
        }
        client.send("GET /v0/entities?start=key HTTP/1.1\r\nHost: test\r\n\r\n"
                + "GET /v0/entity?id=none HTTP/1.1\r\nHost: test\r\n\r\n");
        // 10 MB: the response does not fit into the sockets, so the second request waits in the server.
        Thread.sleep(100);
        assertTrue(client.read().body().length > 100 * LIMIT_BYTES);
        assertEquals(404, client.read().status());
    }

    @Test
    void clientThatGoesAwayInTheMiddleHarmsNobody() throws Exception {
        for (int i = 0; i < 50; i++) {
            try (RawClient gone = new RawClient(server.port())) {
                gone.send("PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\nhalf");
            }
            try (RawClient gone = new RawClient(server.port())) {
                gone.send("GET /v0/entit");
            }
        }
        assertEquals(404, client.ask("GET", "/v0/entity?id=a").status());
    }
}
