package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.server.RawClient;
import lab.server.TestServer;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Three nodes act as one, whichever of them is asked, with every client between them, front and execution. */
class ClusterTest {

    private static final int NODES = 3;
    /** So often it is looked whether a replica is repaired, every 10 ms. */
    private static final int REPAIR_CHECKS = 12_000;
    private static final Pattern SERVED = Pattern.compile("\"local\":(\\d+),\"proxied\":(\\d+)");

    @TempDir
    private Path folder;
    private TestServer nodes;
    private final List<RawClient> clients = new ArrayList<>();

    private void start(String engine, String... flags) throws Exception {
        List<String> all = new ArrayList<>(List.of("--nodes", Integer.toString(NODES), "--peer-retry-ms", "50"));
        all.addAll(List.of(flags));
        nodes = TestServer.start(engine, folder, all.toArray(new String[0]));
        for (int port : nodes.ports()) {
            clients.add(new RawClient(port));
        }
    }

    @AfterEach
    void stop() throws Exception {
        for (RawClient client : clients) {
            client.close();
        }
        nodes.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private int put(int node, String id, String value, String parameters) throws Exception {
        return clients.get(node).ask("PUT", "/v0/entity?id=" + id + parameters, bytes(value)).status();
    }

    private RawClient.Response get(int node, String id, String parameters) throws Exception {
        return clients.get(node).ask("GET", "/v0/entity?id=" + id + parameters);
    }

    private int delete(int node, String id, String parameters) throws Exception {
        return clients.get(node).ask("DELETE", "/v0/entity?id=" + id + parameters).status();
    }

    static List<Arguments> combinations() {
        List<Arguments> all = new ArrayList<>();
        for (ClientKind client : ClientKind.values()) {
            for (String execution : List.of("selector", "pool", "virtual", "blocking-pool")) {
                all.add(Arguments.of(client, "one-nio", execution));
            }
        }
        all.add(Arguments.of(ClientKind.PIPELINED, "jdk", "pool"));
        all.add(Arguments.of(ClientKind.ONE_NIO, "jdk", "pool"));
        all.add(Arguments.of(ClientKind.JDK, "jdk", "virtual"));
        return all;
    }

    @ParameterizedTest
    @MethodSource("combinations")
    void whatOneNodeStoresEveryNodeKnows(ClientKind client, String front, String execution) throws Exception {
        start("memory", "--client", client.toString(), "--front", front, "--execution", execution);
        for (String parameters : List.of("", "&from=1", "&from=1&ack=1", "&from=2&ack=2", "&from=3&ack=3",
                "&ack=2&from=3")) {
            for (int i = 0; i < Length.of(6, 12); i++) {
                String id = "key" + i;
                String value = "value" + i + parameters;
                assertEquals(201, put(i % NODES, id, value, parameters));
                for (int node = 0; node < NODES; node++) {
                    assertEquals(value, get(node, id, parameters).text());
                }
                assertEquals(202, delete((i + 1) % NODES, id, parameters));
                for (int node = 0; node < NODES; node++) {
                    assertEquals(404, get(node, id, parameters).status());
                }
                assertEquals(202, delete((i + 2) % NODES, id, parameters));
            }
        }
        assertEquals(404, get(0, "never", "").status());
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void valuesOfAnySizeAndKeysOfAnyCharactersGoThrough(ClientKind client) throws Exception {
        start("lsm", "--client", client.toString());
        Random random = new Random(5);
        String[] ids = {"plain", "%00%F0%9F%94%91", "a%20b%26c", "%D0%BA%D0%BB%D1%8E%D1%87"};
        int largest = Length.LONG || client == ClientKind.PIPELINED ? 16 * 1024 * 1024 : 4_000_000;
        for (int size : new int[] {0, 1, 9, 32 * 1024 - 9, 32 * 1024, 32 * 1024 + 1, 65_536, 2_000_000, largest}) {
            byte[] value = new byte[size];
            random.nextBytes(value);
            for (String id : ids) {
                if (size > 100_000 && !id.equals("plain")) {
                    continue;
                }
                for (String parameters : List.of("&from=1", "")) {
                    assertEquals(201, clients.get(0).ask("PUT", "/v0/entity?id=" + id + parameters, value).status());
                    for (int node = 0; node < NODES; node++) {
                        assertArrayEquals(value, get(node, id, parameters).body(), id + " of " + size);
                    }
                }
            }
        }
    }

    @Test
    void wrongNumbersOfReplicasAreRefused() throws Exception {
        start("memory");
        for (String wrong : List.of("&from=0", "&from=4", "&ack=0", "&ack=4", "&from=2&ack=3", "&from=-1", "&ack=x")) {
            assertEquals(400, get(0, "a", wrong).status(), wrong);
            assertEquals(400, put(0, "a", "v", wrong), wrong);
            assertEquals(400, delete(0, "a", wrong), wrong);
        }
        assertEquals(404, get(0, "a", "&from=3&ack=3").status());
    }

    @Test
    void rangeShowsWhatThisNodeKeepsWithoutTombstones() throws Exception {
        start("lsm");
        for (int i = 0; i < 300; i++) {
            assertEquals(201, put(i % NODES, "k" + String.format("%03d", i), "v" + i, "&from=1"));
        }
        for (int i = 0; i < 300; i += 3) {
            assertEquals(202, delete(0, "k" + String.format("%03d", i), "&from=1"));
        }
        Set<String> keys = new HashSet<>();
        Matcher records = Pattern.compile("(k\\d{3})\\nv(\\d+?)(?=k|$)").matcher("");
        for (RawClient client : clients) {
            records.reset(client.ask("GET", "/v0/entities?start=k").text());
            String last = "";
            while (records.find()) {
                assertTrue(records.group(1).compareTo(last) > 0, "in order");
                last = records.group(1);
                assertEquals(Integer.parseInt(last.substring(1)), Integer.parseInt(records.group(2)));
                assertTrue(keys.add(last), "each key lies on one node");
            }
        }
        assertEquals(200, keys.size());
        assertTrue(keys.stream().noneMatch(key -> Integer.parseInt(key.substring(1)) % 3 == 0));
    }

    @Test
    void eachKeyWithOneReplicaIsServedHereOrSentOn() throws Exception {
        start("memory");
        int keys = 600;
        for (int i = 0; i < keys; i++) {
            put(0, "key" + i, "v", "&from=1");
        }
        Matcher served = SERVED.matcher(clients.get(0).ask("GET", "/v0/status").text());
        assertTrue(served.find());
        int local = Integer.parseInt(served.group(1));
        int proxied = Integer.parseInt(served.group(2));
        assertEquals(keys, local + proxied);
        assertEquals(keys / 3.0, local, keys * 0.1, "two of three go to other nodes");
    }

    @Test
    void publishedHashProxiesAllOrNothing() throws Exception {
        start("memory", "--hashing", "objects-hash", "--replication-from", "1");
        for (int i = 0; i < 200; i++) {
            for (int node = 0; node < NODES; node++) {
                assertEquals(201, put(node, Integer.toString(i), "v", ""));
            }
        }
        int allLocal = 0;
        for (RawClient client : clients) {
            Matcher served = SERVED.matcher(client.ask("GET", "/v0/status").text());
            assertTrue(served.find());
            int local = Integer.parseInt(served.group(1));
            assertTrue(local == 0 || local == 200, "local " + local);
            allLocal += local;
        }
        assertEquals(200, allLocal, "one node has every key");
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void clusterOfThreeLivesWithOneNodeDownAndSaysWhenItCannot(ClientKind client) throws Exception {
        start("memory", "--client", client.toString());
        for (int i = 0; i < 30; i++) {
            assertEquals(201, put(0, "key" + i, "old", "&ack=3"));
        }
        nodes.stop(2);
        for (int i = 0; i < 30; i++) {
            assertEquals(201, put(i % 2, "key" + i, "new", ""));
            assertEquals("new", get((i + 1) % 2, "key" + i, "").text());
            RawClient.Response tooMany = get(0, "key" + i, "&ack=3");
            assertEquals(504, tooMany.status());
            assertTrue(tooMany.text().contains("3 must respond"), tooMany.text());
            assertEquals(504, put(1, "key" + i, "new", "&ack=3"));
            assertEquals(504, delete(1, "other" + i, "&ack=3"));
        }
        String status = clients.get(0).ask("GET", "/v0/status").text();
        assertTrue(status.contains("\"state\":\"unreachable\""), status);
        assertTrue(status.contains("\"state\":\"up\""), status);
    }

    @Test
    void readRepairBringsReplicasUpToDate() throws Exception {
        start("memory", "--read-repair");
        // A record on one replica only, as a write leaves behind that the others missed.
        byte[] record = StampedRecord.ofValue(HybridClock.wallMicros() << 8, lab.storage.Bytes.utf8("fresh"));
        RawClient first = clients.getFirst();
        first.send("PUT /v0/entity?id=k HTTP/1.1\r\nHost: test\r\n" + nodes.proof() + "Content-Length: " + record.length + "\r\n\r\n");
        first.send(record);
        assertEquals(201, first.read().status());
        assertEquals("fresh", get(1, "k", "&ack=3").text());
        for (RawClient client : clients) {
            byte[] repaired = {};
            for (int i = 0; i < REPAIR_CHECKS && repaired.length == 0; i++) {
                client.send("GET /v0/entity?id=k HTTP/1.1\r\nHost: test\r\n" + nodes.proof() + "\r\n");
                repaired = client.read().body();
                Thread.sleep(10);
            }
            assertArrayEquals(record, repaired);
        }
        assertTrue(clients.get(1).ask("GET", "/v0/status").text().contains("\"read_repairs\":2"));
    }

    @Test
    void staleWriteNeverReplacesANewerOne() throws Exception {
        start("memory");
        assertEquals(201, put(0, "k", "new", "&ack=3"));
        byte[] stale = StampedRecord.ofTombstone(1);
        for (RawClient client : clients) {
            client.send("PUT /v0/entity?id=k HTTP/1.1\r\nHost: test\r\n" + nodes.proof() + "Content-Length: 9\r\n\r\n");
            client.send(stale);
            RawClient.Response refusal = client.read();
            assertEquals(200, refusal.status(), "refused, with the version that is there");
            assertTrue(StampedRecord.version(MemorySegment.ofArray(refusal.body())) > 1);
        }
        assertEquals("new", get(1, "k", "&ack=3").text());
    }

    @Test
    void readyLineAndStatusTellTheTopologyAndEachNodeHasAFolder() throws Exception {
        start("lsm");
        String ready = nodes.readyLine();
        assertTrue(ready.contains("\"nodes\":[{\"url\":\"http://127.0.0.1:" + nodes.ports().getFirst()), ready);
        for (int node = 0; node < NODES; node++) {
            String url = "http://127.0.0.1:" + nodes.ports().get(node);
            assertTrue(ready.contains("\"url\":\"" + url + "\""), ready);
            String status = clients.get(node).ask("GET", "/v0/status").text();
            assertTrue(status.contains("\"cluster\":{\"self\":\"" + url + "\",\"topology\":["), status);
            assertTrue(status.contains("\"hashing\":\"rendezvous\""), status);
            assertTrue(Files.isDirectory(folder.resolve("node-" + (node + 1))));
        }
    }

    @ParameterizedTest
    @CsvSource({"pipelined, selector", "jdk, selector", "pipelined, pool"})
    void manyRequestsAtOnceOnOneConnectionGetResponsesInOrder(String client, String execution) throws Exception {
        start("memory", "--client", client, "--execution", execution);
        int requests = 1_000;
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < requests; i++) {
            String value = "value" + i;
            all.append("PUT /v0/entity?id=k").append(i).append(i % 2 == 0 ? "&from=1" : "")
                    .append(" HTTP/1.1\r\nHost: test\r\nContent-Length: ").append(value.length()).append("\r\n\r\n").append(value);
            all.append("GET /v0/entity?id=k").append(i).append(i % 2 == 0 ? "&from=1" : "").append(" HTTP/1.1\r\nHost: test\r\n\r\n");
        }
        clients.get(0).send(all.toString());
        for (int i = 0; i < requests; i++) {
            assertEquals(201, clients.get(0).read().status());
            assertEquals("value" + i, clients.get(0).read().text());
        }
    }
}
