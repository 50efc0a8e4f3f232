package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lab.server.HeldStorage;
import lab.server.RawClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** While the store of a node stalls, its calls to other nodes go on, and it does not take them for away. */
class StalledStoreTest {

    private static final String QUORUM = "&ack=2&from=3";
    private static final String PUT_HELD =
            "PUT /v0/entity?id=" + HeldStorage.HELD + QUORUM + " HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\nx";
    private static final int CALLERS = 24;

    private final HeldStorage storage = new HeldStorage();
    private final List<RawClient> clients = new ArrayList<>();
    @TempDir
    private Path folder;
    private SeparateNodes nodes;

    @BeforeEach
    void start() throws Exception {
        // With a time-out this long, whoever waits for one is seen by the test's own.
        nodes = new SeparateNodes(3, folder, "--selectors", "8", "--peer-timeout-ms", "15000");
        nodes.start(0, storage, "--read-repair");
        nodes.start(1);
        nodes.start(2);
    }

    @AfterEach
    void stop() throws Exception {
        storage.letGo();
        for (RawClient client : clients) {
            client.close();
        }
        nodes.close();
    }

    private RawClient client() throws Exception {
        clients.add(new RawClient(nodes.port(0)));
        return clients.getLast();
    }

    /** Sends requests on many connections, of which only those fail to be served that share a selector with the stall. */
    private void assertOthersAreServed() throws Exception {
        for (int caller = 0; caller < CALLERS; caller++) {
            client().send("GET /v0/entity?id=other&ack=2&from=3 HTTP/1.1\r\nHost: test\r\n\r\n");
        }
        int served = 0;
        for (RawClient caller : clients.subList(clients.size() - CALLERS, clients.size())) {
            served += caller.hasResponseWithin(served == 0 ? 10_000 / CALLERS : 100) ? 1 : 0;
        }
        assertTrue(served > 0, "nobody is served while the store stalls");
        assertFalse(nodes.status(1).contains("set aside"), nodes.status(1));
    }

    private void assertNobodyCalledTheStoreFromTheThreadOfTheCalls() {
        assertFalse(storage.users().contains("peer-calls"), () -> storage.users().toString());
        assertFalse(storage.users().isEmpty());
    }

    @Test
    void writeThatStallsHereHoldsUpNoOtherCall() throws Exception {
        RawClient stalled = client();
        stalled.send(PUT_HELD);
        storage.awaitHeld(1);
        assertOthersAreServed();
        storage.letGo();
        assertEquals(201, stalled.read().status());
        assertNobodyCalledTheStoreFromTheThreadOfTheCalls();
    }

    @Test
    void requestBehindOneWithALateResponseIsHandledOnItsSelector() throws Exception {
        RawClient pipelining = client();
        pipelining.send("PUT /v0/entity?id=first" + QUORUM + " HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\nx"
                + "GET /v0/entity?id=first" + QUORUM + " HTTP/1.1\r\nHost: test\r\n\r\n" + PUT_HELD);
        storage.awaitHeld(1);
        assertOthersAreServed();
        storage.letGo();
        // Not sooner: responses may be kept back until the requests behind them are handled, to leave together.
        assertEquals(201, pipelining.read().status());
        assertEquals("x", pipelining.read().text());
        assertEquals(201, pipelining.read().status());
        assertNobodyCalledTheStoreFromTheThreadOfTheCalls();
    }

    @Test
    void repairOfTheOwnReplicaAndWritesStampedAgainLeaveTheThreadOfTheCalls() throws Exception {
        for (int i = 0; i < 50; i++) {
            byte[] ahead = StampedRecord.ofValue(HybridClock.wallMicros() + 3_600_000_000L << 8,
                    lab.storage.Bytes.utf8("ahead"));
            RawClient other = new RawClient(nodes.port(1));
            clients.add(other);
            other.send("PUT /v0/entity?id=behind" + i + " HTTP/1.1\r\nHost: test\r\n" + nodes.proof(1) + "Content-Length: "
                    + ahead.length + "\r\n\r\n");
            other.send(ahead);
            assertEquals(201, other.read().status());
            assertEquals(201, nodes.put(0, "behind" + i, "later", "&ack=3&from=3"), "stamped again");
            assertEquals("later", nodes.get(0, "behind" + i, "&ack=3&from=3"));
        }
        assertTrue(nodes.counter(0, "stamped_again") > 0);
        assertEquals(201, nodes.put(1, "other", "new", "&ack=3&from=3"));
        assertNobodyCalledTheStoreFromTheThreadOfTheCalls();
    }

    @Test
    void repairThatStallsHoldsUpNoOtherCall() throws Exception {
        assertEquals(201, nodes.put(1, "other", "x", "&ack=3&from=3"));
        byte[] record = StampedRecord.ofValue(HybridClock.wallMicros() << 8, lab.storage.Bytes.utf8("fresh"));
        for (int node = 1; node < 3; node++) {
            RawClient other = new RawClient(nodes.port(node));
            clients.add(other);
            other.send("PUT /v0/entity?id=" + HeldStorage.HELD + " HTTP/1.1\r\nHost: test\r\n" + nodes.proof(node)
                    + "Content-Length: " + record.length + "\r\n\r\n");
            other.send(record);
            assertEquals(201, other.read().status());
        }
        storage.passReads(1);
        assertEquals("fresh", nodes.get(0, HeldStorage.HELD, QUORUM));
        storage.awaitHeld(1);
        assertOthersAreServed();
        assertNobodyCalledTheStoreFromTheThreadOfTheCalls();
    }
}
