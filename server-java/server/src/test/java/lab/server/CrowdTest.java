package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Clients that do nothing, or that do it slowly, hold nobody up. */
@ParameterizedClass
@MethodSource("lab.server.Mode#onMemory")
class CrowdTest {

    private static final int IDLE_CONNECTIONS = Length.LONG ? 10_000 : 1_000;
    private static final int SLOW_CLIENTS = 200;
    private static final int REQUESTS = 200;
    private static final long PATIENCE_NANOS = 120_000_000_000L;
    private static final Pattern CONNECTIONS = Pattern.compile("\"connections\":(\\d+)");

    private final Mode mode;

    @TempDir
    private Path folder;

    CrowdTest(Mode mode) {
        this.mode = mode;
    }

    private static void assertServes(RawClient client) throws IOException {
        for (int i = 0; i < REQUESTS; i++) {
            assertEquals(201, client.ask("PUT", "/v0/entity?id=key" + i, new byte[10]).status());
            assertEquals(200, client.ask("GET", "/v0/entity?id=key" + i).status());
        }
    }

    /** The server's own count of connections, once all that are idle are among them. */
    private static int awaitIdle(RawClient client) throws Exception {
        long end = System.nanoTime() + PATIENCE_NANOS;
        int counted;
        do {
            Matcher matcher = CONNECTIONS.matcher(client.ask("GET", "/v0/status").text());
            assertTrue(matcher.find(), "The status counts no connections");
            counted = Integer.parseInt(matcher.group(1));
            assertTrue(System.nanoTime() < end, "The server counts only " + counted + " connections");
        } while (counted < IDLE_CONNECTIONS);
        return counted;
    }

    @Test
    void halfRequestsHoldNobodyUp() throws Exception {
        List<RawClient> slow = new ArrayList<>();
        try (TestServer server = TestServer.start("memory", folder, mode.flags());
                RawClient client = new RawClient(server.port())) {
            for (int i = 0; i < SLOW_CLIENTS; i++) {
                RawClient half = new RawClient(server.port());
                half.send(switch (i % 4) {
                    case 0 -> "GET /v0/ent";
                    case 1 -> "PUT /v0/entity?id=slow HTTP/1.1\r\nHost: test\r\nContent-Length: 5";
                    case 2 -> "PUT /v0/entity?id=slow HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nval";
                    default -> "PUT /v0/entity?id=slow HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nva";
                });
                slow.add(half);
            }
            assertServes(client);
            // Who comes to an end after all gets a response.
            slow.get(2).send("ue");
            assertEquals(201, slow.get(2).read().status());
            slow.get(3).send("l\r\n0\r\n\r\n");
            assertEquals(201, slow.get(3).read().status());
            assertEquals("val", client.ask("GET", "/v0/entity?id=slow").text());
        } finally {
            for (RawClient half : slow) {
                half.close();
            }
        }
    }

    @Test
    void clientThatSendsByteByByteGetsItsResponseWhileOthersAreServed() throws Exception {
        try (TestServer server = TestServer.start("memory", folder, mode.flags());
                RawClient slow = new RawClient(server.port()); RawClient client = new RawClient(server.port())) {
            for (byte b : "PUT /v0/entity?id=slow HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nvalue".getBytes()) {
                slow.send(new byte[] {b});
                assertEquals(404, client.ask("GET", "/v0/entity?id=none").status());
            }
            assertEquals(201, slow.read().status());
        }
    }

    /**
     * In a process of its own, since both ends in one would need twice the file descriptors. Fronts hold connections that
     * are idle, executions do not: in the short form each front has one of these.
     */
    @Test
    void idleConnectionsHoldNobodyUp() throws Exception {
        if (!mode.execution().equals("selector")) {
            Length.assumeLong();
        }
        OpenFiles.assumeRoomFor(IDLE_CONNECTIONS);
        List<RawClient> idle = new ArrayList<>();
        List<String> flags = new ArrayList<>(List.of(mode.flags("--engine", "memory", "--port", "0",
                "--max-connections", "0", "--idle-timeout-ms", "0")));
        try (ServerProcess server = ServerProcess.start(folder.resolve("errors.log"), List.of("-Xmx256m",
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"),
                flags.toArray(new String[0]))) {
            int port = ServerProcess.port(server.readyLine());
            for (int i = 0; i < IDLE_CONNECTIONS; i++) {
                RawClient connection = new RawClient(port);
                idle.add(connection);
                if (i % 10 == 0) {
                    assertEquals(404, connection.ask("GET", "/v0/entity?id=none").status());
                }
            }
            try (RawClient client = new RawClient(port)) {
                assertServes(client);
                int counted = awaitIdle(client);
                System.out.println("idle connections: " + idle.size() + " open, by the server's count " + counted + "; " + REQUESTS
                        + " PUT and " + REQUESTS + " GET of another one served; " + mode + "; open files allowed: "
                        + OpenFiles.limit() + (Length.LONG ? "" : " (LAB_LONG=1 opens 10000)"));
            }
            assertEquals(200, idle.getFirst().ask("GET", "/v0/entity?id=key0").status());
            assertEquals(200, idle.getLast().ask("GET", "/v0/entity?id=key0").status());
            assertEquals("", server.errorText());
        } finally {
            for (RawClient connection : idle) {
                connection.close();
            }
        }
    }
}
