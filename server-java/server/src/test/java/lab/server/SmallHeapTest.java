package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Data that is many times the heap goes in and out, and no request fails for lack of memory. */
class SmallHeapTest {

    /** Fewer and larger ones in the short form: what counts is that together they are more than the heap. */
    private static final int SMALL_BYTES = Length.of(4_000, 1_000);

    private static final Duration PATIENCE = Duration.ofSeconds(120);

    @TempDir
    private Path folder;

    private ServerProcess start(String heap, String collector, String... flags) throws IOException {
        List<String> all = new ArrayList<>(List.of("--engine", "lsm", "--data", folder.resolve("data").toString(), "--port",
                "0", "--selectors", "2"));
        all.addAll(List.of(flags));
        return ServerProcess.start(folder.resolve("errors.log"), List.of(heap, collector,
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"),
                all.toArray(new String[0]));
    }

    /** Heap, collector, connections, bytes of each connection, and of a value; 0 for small values. */
    static Stream<Arguments> floods() {
        return Stream.of(Arguments.of("-Xmx32m", "-XX:+UseSerialGC", 1, 40_000_000, 0),
                Arguments.of("-Xmx32m", "-XX:+UseSerialGC", 64, 1_000_000, 0),
                Arguments.of("-Xmx128m", "-XX:+UseG1GC", 64, 3_000_000, 1_000_000),
                Arguments.of("-Xmx128m", "-XX:+UseSerialGC", Length.of(10, 16), 16_777_216, 16_777_216),
                Arguments.of("-Xmx128m", "-XX:+UseSerialGC", 64, 3_000_000, 1_000_000));
    }

    /** All connections send at once; every value must be stored. */
    @ParameterizedTest
    @MethodSource("floods")
    void floodOfPutsIsTakenWhole(String heap, String collector, int connections, int bytesEach, int bytes)
            throws Exception {
        if (connections == 1 || bytes == 1_000_000 && collector.equals("-XX:+UseSerialGC")) {
            Length.assumeLong();
        }
        int valueBytes = bytes == 0 ? SMALL_BYTES : bytes;
        int puts = bytesEach / valueBytes;
        try (ServerProcess server = start(heap, collector)) {
            int port = ServerProcess.port(server.readyLine());
            try (ExecutorService threads = Executors.newFixedThreadPool(connections)) {
                List<Future<?>> results = new ArrayList<>();
                for (int connection = 0; connection < connections; connection++) {
                    int number = connection;
                    results.add(threads.submit(() -> putMany(port, number, puts, valueBytes)));
                }
                for (Future<?> result : results) {
                    result.get();
                }
            }
            for (int connection = 0; connection < connections; connection++) {
                assertEquals(valueBytes, whole(port, "/v0/entity?id=" + connection + "-" + (puts - 1)).length);
            }
            assertFalse(server.errorText().contains("OutOfMemoryError"), server.errorText());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"one-nio", "jdk"})
    void rangeOverAllNodesThatIsLargerThanTheHeapIsStreamed(String front) throws Exception {
        int keys = Length.of(520, 700);
        int valueBytes = 100_000;
        try (ServerProcess server = start("-Xmx48m", "-XX:+UseSerialGC", "--nodes", "3", "--front", front, "--execution",
                "pool", "--peer-timeout-ms", "20000")) {
            int port = ServerProcess.port(server.readyLine());
            try (RawClient client = new RawClient(port)) {
                for (int i = 0; i < keys; i++) {
                    assertEquals(201, client.ask("PUT", "/v0/entity?from=1&id=" + (1_000 + i), new byte[valueBytes]).status());
                }
            }
            assertEquals((long) keys * (valueBytes + "1000\n".length()),
                    whole(port, "/v0/entities?start=1&scope=cluster").length);
            assertFalse(server.errorText().contains("OutOfMemoryError"), server.errorText());
        }
    }

    /** Both fronts and both ways to say a length; each with each in the long form. */
    static Stream<Arguments> halves() {
        return Stream.of(Arguments.of("one-nio", true), Arguments.of("jdk", false), Arguments.of("one-nio", false),
                Arguments.of("jdk", true));
    }

    /** Clients that begin to send and stop must not keep the heap from those who send all. */
    @ParameterizedTest
    @MethodSource("halves")
    void bodiesThatAreSentByHalvesDoNotFillTheHeap(String front, boolean chunked) throws Exception {
        if (chunked != front.equals("one-nio")) {
            Length.assumeLong();
        }
        int clients = Math.min(2_000, (int) (OpenFiles.limit() / 4));
        byte[] half = new byte[48 * 1024];
        List<RawClient> halves = new ArrayList<>();
        try (ServerProcess server = start("-Xmx128m", "-XX:+UseSerialGC", "--front", front, "--execution", "pool")) {
            int port = ServerProcess.port(server.readyLine());
            String size = chunked ? "Transfer-Encoding: chunked\r\n\r\nfff0\r\n" : "Content-Length: 65536\r\n\r\n";
            for (int i = 0; i < clients; i++) {
                RawClient client = new RawClient(port);
                halves.add(client);
                client.send("PUT /v0/entity?id=half" + i + " HTTP/1.1\r\nHost: test\r\n" + size);
                client.send(half);
            }
            try (RawClient client = new RawClient(port)) {
                // All that was sent before has reached the server, and what it took is in its heap.
                assertEquals(200, client.ask("GET", "/v0/status").status());
                assertEquals(201, client.ask("PUT", "/v0/entity?id=whole", new byte[SMALL_BYTES]).status());
            }
            for (RawClient client : halves) {
                client.close();
            }
            try (RawClient client = new RawClient(port)) {
                assertEquals(201, client.ask("PUT", "/v0/entity?id=large", new byte[1_000_000]).status());
                assertEquals(201, client.ask("PUT", "/v0/entity?id=small", new byte[60_000]).status());
            }
            assertFalse(server.errorText().contains("OutOfMemoryError"), server.errorText());
        }
    }

    /**
     * Asks until the response is whole: who holds memtables that are written out meanwhile is cut off if it is slow, as this
     * process is on a busy machine.
     */
    private static byte[] whole(int port, String target) {
        return assertTimeoutPreemptively(PATIENCE, () -> {
            while (true) {
                try (RawClient client = new RawClient(port)) {
                    RawClient.Response response = client.ask("GET", target);
                    assertEquals(200, response.status());
                    String length = response.fields().get("content-length");
                    if (length == null || response.body().length == Integer.parseInt(length)) {
                        return response.body();
                    }
                } catch (EOFException e) {
                    // Cut off between two chunks or within one.
                }
            }
        });
    }

    private static Void putMany(int port, int connection, int puts, int valueBytes) throws IOException {
        byte[] value = new byte[valueBytes];
        Arrays.fill(value, (byte) connection);
        try (RawClient client = new RawClient(port)) {
            for (int i = 0; i < puts; i++) {
                assertEquals(201, client.ask("PUT", "/v0/entity?id=" + connection + "-" + i, value).status());
            }
        }
        return null;
    }

    @Test
    void rangeLargerThanTheHeapIsStreamedToSlowClientsToo() throws Exception {
        int keys = 40_000_000 / SMALL_BYTES;
        try (ServerProcess server = start("-Xmx32m", "-XX:+UseSerialGC")) {
            int port = ServerProcess.port(server.readyLine());
            putMany(port, 0, keys, SMALL_BYTES);
            List<RawClient> idle = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                RawClient slow = new RawClient(port);
                slow.send("GET /v0/entities?start=0 HTTP/1.1\r\nHost: test\r\n\r\n");
                idle.add(slow);
            }
            long bytes = whole(port, "/v0/entities?start=0").length;
            assertTrue(bytes > (long) keys * SMALL_BYTES, "got " + bytes);
            for (RawClient slow : idle) {
                slow.close();
            }
        }
    }
}
