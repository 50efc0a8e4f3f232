package lab.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The server as its users meet it: a process with flags, a ready line, signals and exit codes. */
class ProcessTest {

    private static final int KEYS = Length.of(500, 2_000);
    private static final int TERMINATED = 143;
    private static final List<String> SMALL_HEAP = List.of("-Xmx64m", "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow");

    @TempDir
    private Path folder;

    private ServerProcess start(String... flags) throws IOException {
        return ServerProcess.start(folder.resolve("errors.log"), SMALL_HEAP, flags);
    }

    @ParameterizedTest
    @EnumSource(value = Engine.class, mode = EnumSource.Mode.EXCLUDE, names = {"MEMORY", "NOOP"})
    void whatWasAcknowledgedSurvivesSigterm(Engine engine) throws Exception {
        if (engine != Engine.LSM && engine != Engine.ROCKSDB) {
            Length.assumeLong();
        }
        String data = folder.resolve("data").toString();
        try (ServerProcess server = start("--engine", engine.toString(), "--data", data, "--port", "0")) {
            String ready = server.readyLine();
            for (String part : new String[] {"{\"event\":\"ready\",\"instance\":\"", "\"engine\":\"" + engine + "\"",
                    "\"engine_settings\":{", "\"host\":\"127.0.0.1\"", "\"transport\":\"", "\"heap_max_bytes\":",
                    "\"one_nio\":\"1.7.1\"", "\"gc\":\""}) {
                assertTrue(ready.contains(part), part + " is not in " + ready);
            }
            try (RawClient client = new RawClient(ServerProcess.port(ready))) {
                for (int i = 0; i < KEYS; i++) {
                    assertEquals(201, client.ask("PUT", "/v0/entity?id=key" + i, value(i)).status());
                }
                server.terminate();
                assertEquals(TERMINATED, server.exitCode());
            }
            assertEquals("", server.restOfOutput(), "the ready line is all that the standard output gets");
            assertEquals("", server.errorText(), "nothing was wrong, so nothing is said");
        }
        try (ServerProcess server = start("--engine", engine.toString(), "--data", data, "--port", "0");
                RawClient client = new RawClient(ServerProcess.port(server.readyLine()))) {
            for (int i = 0; i < KEYS; i++) {
                assertArrayEquals(value(i), client.ask("GET", "/v0/entity?id=key" + i).body());
            }
        }
    }

    private static byte[] value(int i) {
        return ("value" + i).getBytes(StandardCharsets.US_ASCII);
    }

    @Test
    void portThatIsTakenIsNamedWithARemedy() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                ServerProcess server = start("--engine", "noop", "--port", Integer.toString(taken.getLocalPort()))) {
            assertEquals(2, server.exitCode());
            String said = server.errorText().strip();
            assertEquals(1, said.lines().count(), said);
            assertTrue(said.contains("Port " + taken.getLocalPort()) && said.contains("--port"), said);
            assertEquals("", server.restOfOutput());
        }
    }

    @Test
    void serverThatListensIsNotReplacedByASecondOne() throws Exception {
        try (ServerProcess first = start("--engine", "noop", "--port", "0")) {
            int port = ServerProcess.port(first.readyLine());
            try (ServerProcess second = ServerProcess.start(folder.resolve("second.log"), SMALL_HEAP, "--engine",
                    "noop", "--port", Integer.toString(port))) {
                assertEquals(2, second.exitCode());
                assertTrue(second.errorText().contains("Port " + port), second.errorText());
            }
        }
    }

    @Test
    void folderInUseIsNamedWithARemedy() throws Exception {
        String data = folder.resolve("data").toString();
        try (ServerProcess first = start("--engine", "lsm", "--data", data, "--port", "0")) {
            first.readyLine();
            try (ServerProcess second = ServerProcess.start(folder.resolve("second.log"), SMALL_HEAP, "--engine", "lsm",
                    "--data", data, "--port", "0")) {
                assertEquals(2, second.exitCode());
                assertTrue(second.errorText().contains("in use"), second.errorText());
                assertTrue(second.errorText().contains("--data"), second.errorText());
            }
        }
    }

    @Test
    void wrongFlagsEndTheProcess() throws Exception {
        try (ServerProcess server = start("--port", "0")) {
            assertEquals(2, server.exitCode());
            assertTrue(server.errorText().contains("--engine"), server.errorText());
            assertEquals("", server.restOfOutput());
        }
    }

    @Test
    void wrongFlagsAreExplained() {
        assertRefused("'fast' is not one of " + Arrays.toString(Engine.values()), "--engine", "fast");
        assertRefused("--data", "--engine", "lsm");
        assertRefused("--port is 70000", "--engine", "noop", "--port", "70000");
        assertRefused("--no-such-flag", "--engine", "noop", "--no-such-flag");
        assertRefused("--port", "--engine", "noop", "--nodes", "2", "--port", "0", "--port", "1");
        assertRefused("a larger -Xmx", "--engine", "noop", "--cache-bytes", "1000000000");
        assertRefused("--bloom-bits-per-key is 99", "--engine", "noop", "--bloom-bits-per-key", "99");
        assertRefused("--queue is for --execution pool", "--engine", "noop", "--execution", "virtual", "--queue", "lifo");
        assertRefused("--deadline-ms is for --execution pool and virtual", "--engine", "noop", "--deadline-ms", "5");
        assertRefused("at most 32767", "--engine", "noop", "--execution", "virtual", "--pool-threads", "32768");
        assertRefused("'never' is not one of [first, always]", "--engine", "noop", "--verify-checksums", "never");
        assertRefused("'later' is not one of [off, buffered, sync]", "--engine", "noop", "--wal", "later");
    }

    private static void assertRefused(String said, String... flags) {
        StringWriter errors = new StringWriter();
        assertEquals(2, Main.run(new PrintWriter(errors, true), flags));
        assertTrue(errors.toString().contains(said), errors.toString());
    }
}
