package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import lab.server.RawClient;
import lab.server.TestServer;
import lab.storage.conformance.FreePort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Flags that make no cluster are refused, and the message names the flag and what it may be. */
class ClusterFlagsTest {

    private static final String TWO = "http://127.0.0.1:7001,http://127.0.0.1:7002";

    @TempDir
    private Path folder;

    private void assertRefused(String said, String... flags) {
        IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class,
                () -> TestServer.start("noop", folder, flags).close());
        assertTrue(refusal.getMessage().contains(said), refusal.getMessage());
    }

    @Test
    void wrongFlagsAreExplained() {
        assertRefused("--nodes is 0", "--nodes", "0");
        assertRefused("--nodes is 257", "--nodes", "257");
        assertRefused("give one", "--nodes", "2", "--topology", TWO, "--self", "http://127.0.0.1:7001");
        assertRefused("belong together", "--topology", TWO);
        assertRefused("belong together", "--self", "http://127.0.0.1:7001");
        assertRefused("not a node of --topology", "--topology", TWO, "--self", "http://127.0.0.1:7003");
        assertRefused("twice", "--topology", "http://h:1,http://h:1/", "--self", "http://h:1");
        for (String wrong : List.of("127.0.0.1:7001", "https://h:1", "http://h", "http://h:0", "http://h:1/path",
                "http://h:1?q", "http://u@h:1", "http:// h:1", "")) {
            assertRefused("no address of a node", "--topology", wrong, "--self", "http://h:1");
        }
        assertRefused("are for a cluster", "--client", "jdk");
        assertRefused("are for a cluster", "--replication-ack", "1");
        assertRefused("--replication-from is 4", "--nodes", "3", "--replication-from", "4");
        assertRefused("--replication-ack is 3", "--nodes", "3", "--replication-from", "2", "--replication-ack", "3");
        assertRefused("--client-lock is for", "--nodes", "3", "--client-lock");
        assertRefused("--unused-response is for", "--nodes", "3", "--unused-response");
        assertRefused("--peer-timeout-ms is 0", "--nodes", "3", "--peer-timeout-ms", "0");
        assertRefused("--peer-threads is 0", "--nodes", "3", "--client", "jdk", "--peer-threads", "0");
    }

    @Test
    void nodeListensWhereTheOthersLookForItOrIsRefused() throws Exception {
        String self = "http://127.0.0.1:7001";
        assertRefused("--port is 7002, but --self is " + self, "--topology", TWO, "--self", self, "--port", "7002");
        assertRefused("--host is 127.0.0.3, but --self is " + self, "--topology", TWO, "--self", self, "--host", "127.0.0.3");
        // 192.0.2.0/24 is kept for documentation, so no machine has one of its addresses.
        assertRefused("--self is http://192.0.2.1:7001, but no interface", "--topology", "http://192.0.2.1:7001", "--self",
                "http://192.0.2.1:7001");
        assertRefused("--self has the host no-such-host.invalid", "--topology", "http://no-such-host.invalid:7001",
                "--self", "http://no-such-host.invalid:7001");
        assertRefused("--cluster-secret-file", "--topology", "http://127.0.0.1:7001,http://192.0.2.1:7001", "--self", self);
        String other = "http://127.0.0.2:" + FreePort.next();
        try (TestServer node = TestServer.start("memory", folder, "--topology", other, "--self", other);
                Socket socket = new Socket("127.0.0.2", node.port())) {
            assertTrue(node.readyLine().contains("\"host\":\"127.0.0.2\""), node.readyLine());
            assertTrue(socket.isConnected());
        }
    }

    @Test
    void secretThatIsNoneIsRefused() throws Exception {
        Path file = folder.resolve("secret");
        assertRefused("cannot be read", "--nodes", "2", "--cluster-secret-file", file.toString());
        for (String wrong : List.of("", "short", "0123456789 abcdef", "0123456789\nabcdef", "x".repeat(257), "0123456789abcdefé")) {
            Files.writeString(file, wrong);
            assertRefused("holds no secret", "--nodes", "2", "--cluster-secret-file", file.toString());
        }
    }

    @Test
    void topologyIsTheSameInWhateverOrderItIsListed() {
        Topology topology = Topology.of(List.of("http://b:2/", "http://a:1", "http://c:3"), "http://c:3");
        Topology other = Topology.of(List.of("http://c:3", "http://b:2", "http://a:1"), "http://c:3/");
        assertEquals(topology, other);
        assertEquals("http://c:3", topology.selfUrl());
    }

    @Test
    void lockedClientStillServes() throws Exception {
        try (TestServer nodes = TestServer.start("noop", folder, "--nodes", "3", "--client", "one-nio",
                "--client-lock", "--peer-threads", "20", "--replication-from", "1");
                RawClient client = new RawClient(nodes.port())) {
            for (int i = 0; i < 50; i++) {
                assertEquals(201, client.ask("PUT", "/v0/entity?id=" + i, new byte[] {1}).status());
                assertEquals("10000", client.ask("GET", "/v0/entity?id=" + i).text());
            }
        }
    }
}
