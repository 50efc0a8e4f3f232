package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import lab.server.RawClient;
import lab.server.TestServer;
import lab.server.api.ClusterSecret;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A request is believed to come from another node only if it holds the secret of the cluster. */
class ClusterSecretTest {

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"one-nio", "jdk"})
    void whoDoesNotKnowTheSecretIsRefusedAndStoresNothing(String front) throws Exception {
        try (TestServer nodes = TestServer.start("memory", folder, "--nodes", "2", "--front", front, "--execution", "pool")) {
            byte[] record = StampedRecord.ofValue(1, lab.storage.Bytes.utf8("forged"));
            for (String proof : List.of("Lab-Internal: 1", "lab-internal:", nodes.proof().strip() + "0",
                    nodes.proof().strip().substring(0, 40))) {
                for (int port : nodes.ports()) {
                    try (RawClient client = new RawClient(port)) {
                        client.send("PUT /v0/entity?id=k HTTP/1.1\r\nHost: test\r\n" + proof + "\r\nContent-Length: " + record.length
                                + "\r\n\r\n" + new String(record, StandardCharsets.ISO_8859_1));
                        RawClient.Response refused = client.read();
                        assertEquals(403, refused.status(), proof);
                        assertTrue(refused.text().contains("--cluster-secret-file"), refused.text());
                    }
                }
            }
            try (RawClient client = new RawClient(nodes.port())) {
                assertEquals(404, client.ask("GET", "/v0/entity?id=k").status());
                client.send("PUT /v0/entity?id=k HTTP/1.1\r\nHost: test\r\n" + nodes.proof() + "Content-Length: " + record.length
                        + "\r\n\r\n");
                client.send(record);
                assertEquals(201, client.read().status());
                assertEquals("forged", client.ask("GET", "/v0/entity?id=k&ack=2").text());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"one-nio", "jdk"})
    void nodeThatIsAloneBelievesNobody(String front) throws Exception {
        try (TestServer server = TestServer.start("memory", folder, "--front", front, "--execution", "pool");
                RawClient client = new RawClient(server.port())) {
            client.send("GET /v0/entity?id=k HTTP/1.1\r\nHost: test\r\nLab-Internal: 1\r\n\r\n");
            assertEquals(403, client.read().status());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipelined", "one-nio", "jdk"})
    void everyClientProvesItselfWithTheSecretOfTheFile(String kind) throws Exception {
        Path file = folder.resolve("secret");
        Files.writeString(file, "0123456789abcdef\n");
        try (TestServer nodes = TestServer.start("memory", folder, "--nodes", "2", "--client", kind,
                "--cluster-secret-file", file.toString()); RawClient client = new RawClient(nodes.port())) {
            assertEquals("Lab-Internal: 0123456789abcdef\r\n", nodes.proof());
            assertEquals(201, client.ask("PUT", "/v0/entity?id=k&ack=2&from=2", new byte[3]).status());
            assertEquals(200, client.ask("GET", "/v0/entity?id=k&ack=2&from=2").status());
        }
    }

    @Test
    void secretsOfTwoClustersDiffer() {
        assertFalse(areTheSame(ClusterSecret.random(), ClusterSecret.random()));
        ClusterSecret secret = ClusterSecret.ofTopology(List.of("http://127.0.0.1:1", "http://127.0.0.1:2"));
        assertTrue(areTheSame(secret, ClusterSecret.ofTopology(List.of("http://127.0.0.1:1", "http://127.0.0.1:2"))));
        assertFalse(areTheSame(secret, ClusterSecret.ofTopology(List.of("http://127.0.0.1:1", "http://127.0.0.1:3"))));
    }

    private static boolean areTheSame(ClusterSecret secret, ClusterSecret other) {
        byte[] value = other.fieldValue().getBytes(StandardCharsets.US_ASCII);
        return secret.matches(value, 0, value.length);
    }
}
