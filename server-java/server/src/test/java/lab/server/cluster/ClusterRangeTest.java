package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import lab.server.HeldStorage;
import lab.server.RawClient;
import lab.server.TestServer;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.conformance.FreePort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A range over all nodes shows each key once, with its newest version, whichever node is asked. */
class ClusterRangeTest {

    private static final int NODES = 3;

    @TempDir
    private Path folder;

    private static String record(int key) {
        return String.format("k%05d\nv%d", key, key);
    }

    @ParameterizedTest
    @CsvSource({"one-nio, selector, memory", "one-nio, blocking-pool, memory", "one-nio, virtual, lsm", "jdk, pool, lsm"})
    void everyKeyIsShownOnceInOrder(String front, String execution, String engine) throws Exception {
        try (TestServer nodes = TestServer.start(engine, folder, "--nodes", "3", "--front", front, "--execution",
                execution); RawClient client = new RawClient(nodes.port())) {
            List<String> expected = new ArrayList<>();
            for (int key = 0; key < 600; key++) {
                String target = "/v0/entity?id=" + String.format("k%05d", key) + "&from=" + (1 + key % NODES);
                assertEquals(201, client.ask("PUT", target, ("v" + key).getBytes()).status());
                if (key % 5 == 0) {
                    assertEquals(202, client.ask("DELETE", target).status());
                } else {
                    expected.add(record(key));
                }
            }
            for (int port : nodes.ports()) {
                try (RawClient other = new RawClient(port)) {
                    assertEquals(String.join("", expected), other.ask("GET", "/v0/entities?start=k&scope=cluster").text());
                    assertEquals(record(101) + record(102), other.ask("GET",
                            "/v0/entities?start=k00100&end=k00103&scope=cluster").text());
                    assertEquals("", other.ask("GET", "/v0/entities?start=l&scope=cluster").text());
                    assertEquals(400, other.ask("GET", "/v0/entities?start=l&scope=all").status());
                    assertEquals(404, other.ask("GET", "/v0/entity?id=absent").status(), "the connection goes on");
                }
            }
        }
    }

    @Test
    void newestVersionWinsAndTombstonesHide() throws Exception {
        try (TestServer nodes = TestServer.start("memory", folder, "--nodes", "3")) {
            for (int node = 0; node < NODES; node++) {
                try (RawClient client = new RawClient(nodes.ports().get(node))) {
                    put(nodes, client, "a", StampedRecord.ofValue(1 + node, Bytes.utf8("a" + node)));
                    put(nodes, client, "b", node == 1 ? StampedRecord.ofTombstone(5)
                            : StampedRecord.ofValue(node, Bytes.utf8("b" + node)));
                    put(nodes, client, "c", StampedRecord.ofValue(9 - node, Bytes.utf8("c" + node)));
                }
            }
            try (RawClient client = new RawClient(nodes.port())) {
                assertEquals("a\na2c\nc0", client.ask("GET", "/v0/entities?start=a&scope=cluster").text());
            }
        }
    }

    private static void put(TestServer nodes, RawClient client, String id, byte[] record) throws Exception {
        client.send("PUT /v0/entity?id=" + id + " HTTP/1.1\r\nHost: test\r\n" + nodes.proof() + "Content-Length: " + record.length
                + "\r\n\r\n");
        client.send(record);
        assertEquals(201, client.read().status());
    }

    @Test
    void asManyNodesMayBeAwayAsAReadOfAKeyBears() throws Exception {
        try (TestServer nodes = TestServer.start("memory", folder, "--nodes", "3");
                RawClient client = new RawClient(nodes.port())) {
            for (int key = 0; key < 100; key++) {
                assertEquals(201, client.ask("PUT", "/v0/entity?id=" + String.format("k%05d", key) + "&ack=3",
                        ("v" + key).getBytes()).status());
            }
            nodes.stop(NODES - 1);
            assertEquals(100, client.ask("GET", "/v0/entities?start=k&scope=cluster").text().split("\n").length - 1);
            RawClient.Response refused = client.ask("GET", "/v0/entities?start=k&scope=cluster&ack=3");
            assertEquals(504, refused.status());
            assertTrue(refused.text().contains("2 of 3 nodes"), refused.text());
            nodes.stop(1);
            assertEquals(504, client.ask("GET", "/v0/entities?start=k&scope=cluster").status());
        }
    }

    @Test
    void storeIsNotClosedUnderARangeThatReadsIt() throws Exception {
        int port = FreePort.next();
        String self = "http://127.0.0.1:" + port;
        GatedStorage storage = new GatedStorage();
        TestServer node = TestServer.start(storage, "--topology", self, "--self", self);
        try (RawClient client = new RawClient(node.port())) {
            client.send("GET /v0/entities?start=k&scope=cluster HTTP/1.1\r\nHost: test\r\n\r\n");
            storage.reached.await();
            Thread closer = Thread.ofPlatform().start(node::close);
            // Long enough for a server that does not wait for the range to close its store.
            boolean early = storage.closed.await(1, TimeUnit.SECONDS);
            storage.gate.countDown();
            closer.join();
            assertFalse(early, "the store was closed while a range read it");
            assertTrue(storage.closed.await(0, TimeUnit.SECONDS));
        }
    }

    /** A store whose ranges wait at their first entry until they are let go. */
    private static final class GatedStorage extends HeldStorage {

        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch gate = new CountDownLatch(1);
        private final CountDownLatch closed = new CountDownLatch(1);

        @Override
        public Cursor range(MemorySegment from, MemorySegment to) {
            Cursor range = super.range(from, to);
            reached.countDown();
            try {
                gate.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return range;
        }

        @Override
        public void close() {
            super.close();
            closed.countDown();
        }
    }

    @Test
    void nodeThatIsAloneShowsItsOwn() throws Exception {
        try (TestServer server = TestServer.start("memory", folder); RawClient client = new RawClient(server.port())) {
            assertEquals(201, client.ask("PUT", "/v0/entity?id=k", "v".getBytes()).status());
            assertEquals("k\nv", client.ask("GET", "/v0/entities?start=k&scope=cluster").text());
        }
    }
}
