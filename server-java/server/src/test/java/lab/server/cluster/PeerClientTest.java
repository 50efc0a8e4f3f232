package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import lab.server.api.ClusterSecret;
import lab.storage.conformance.FreePort;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Every client between nodes: what is asked arrives, the response comes back, and nothing is waited for too long. */
class PeerClientTest {

    private static final int THREADS = 4;
    /** Where a node keeps silent. */
    private static final int TIMEOUT_MS = 300;
    /** Where it responds, however busy the machine is. */
    private static final int PATIENCE_MS = 60_000;
    private static final int RETRY_MS = 50;
    private static final int PATIENCE_S = 120;
    private static final byte[] NO_BYTES = {};

    private final ScheduledExecutorService prober = Executors.newSingleThreadScheduledExecutor();
    private final List<AutoCloseable> opened = new ArrayList<>();

    private Peer peer(ClientKind kind, String url) {
        return peer(kind, url, TIMEOUT_MS);
    }

    private Peer peer(ClientKind kind, String url, int timeoutMs) {
        return peer(kind, url, timeoutMs, false);
    }

    private Peer peer(ClientKind kind, String url, int timeoutMs, boolean lock) {
        return peer(kind, url, timeoutMs, lock, RETRY_MS);
    }

    private Peer peer(ClientKind kind, String url, int timeoutMs, boolean lock, int retryMs) {
        PeerTransport transport = kind.open(new ClusterSettings(Hashing.RENDEZVOUS, 1, 1, false, kind, lock, false, THREADS,
                timeoutMs, retryMs, 0, ClusterSecret.random()));
        opened.addFirst(transport);
        return new Peer(url, transport.to(url), prober, retryMs);
    }

    private FakeNode node(FakeNode.Script script) throws IOException {
        FakeNode node = new FakeNode(script);
        opened.add(node);
        return node;
    }

    @AfterEach
    void close() throws Exception {
        prober.shutdownNow();
        for (AutoCloseable closeable : opened) {
            closeable.close();
        }
    }

    /** A call whose end can be waited for: the record found, null for none, or the failure. */
    private static final class Asked extends PeerCall {

        private static final long serialVersionUID = 1L;

        private final transient CompletableFuture<Object> end = new CompletableFuture<>();

        Asked(Kind kind, byte[] key, byte[] record) {
            super(kind, key, record);
        }

        @Override
        void responded(byte[] stored) {
            end.complete(stored);
        }

        @Override
        void failed(PeerFailure failure) {
            end.complete(failure);
        }

        Object await() throws Exception {
            return end.get(PATIENCE_S, TimeUnit.SECONDS);
        }
    }

    private static Asked get(Peer peer, String key) {
        Asked call = new Asked(PeerCall.Kind.GET, key.getBytes(StandardCharsets.UTF_8), null);
        peer.send(call);
        return call;
    }

    private static Asked put(Peer peer, byte[] key, byte[] record) {
        Asked call = new Asked(PeerCall.Kind.PUT, key, record);
        peer.send(call);
        return call;
    }

    /** Responds, as long as it is to be silent only when that is over. */
    private static byte[] whenOver(AtomicBoolean silent, CountDownLatch over) throws InterruptedException {
        if (silent.get()) {
            over.await();
        }
        return FakeNode.response(200, NO_BYTES);
    }

    /** Asks a node that was silent until it is taken back, and again if it then responds too late on a busy machine. */
    private static void awaitResponse(Peer peer, Runnable meanwhile) throws Exception {
        Object end = null;
        for (int i = 0; !(end instanceof byte[]) && i < PATIENCE_S * 100; i++) {
            meanwhile.run();
            Thread.sleep(10);
            end = get(peer, "a").await();
        }
        assertInstanceOf(byte[].class, end, "the node is not taken back");
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void recordsAndKeysOfAnyBytesArriveAndComeBack(ClientKind kind) throws Exception {
        ConcurrentHashMap<String, byte[]> stored = new ConcurrentHashMap<>();
        FakeNode node = node(request -> {
            String target = request.line().split(" ")[1];
            if (request.line().startsWith("PUT ")) {
                stored.put(target, request.body());
                return FakeNode.response(201, NO_BYTES);
            }
            byte[] body = stored.get(target);
            return FakeNode.response(body == null ? 404 : 200, body == null ? NO_BYTES : body);
        });
        Peer peer = peer(kind, node.url(), PATIENCE_MS);
        Random random = new Random(3);
        for (int size : new int[] {0, 1, 9, 1_000, 65_000, 65_536, 70_000, 3_000_000}) {
            byte[] key = new byte[1 + random.nextInt(40)];
            random.nextBytes(key);
            byte[] record = new byte[size];
            random.nextBytes(record);
            assertNull(put(peer, key, record).await());
            Asked got = new Asked(PeerCall.Kind.GET, key, null);
            peer.send(got);
            assertArrayEquals(record, (byte[]) got.await(), "size " + size);
        }
        assertNull(get(peer, "none").await());
        assertNull(put(peer, "a b&c".getBytes(StandardCharsets.US_ASCII), NO_BYTES).await());
        assertTrue(stored.containsKey("/v0/entity?id=a%20b%26c"), stored.keySet().toString());
        assertTrue(node.seen().stream().allMatch(FakeNode.Seen::marked), "every request is marked as internal");
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void callsSentAtOnceGetTheirOwnResponses(ClientKind kind) throws Exception {
        FakeNode node = node(request -> FakeNode.response(200,
                request.line().split(" ")[1].getBytes(StandardCharsets.US_ASCII)));
        Peer peer = peer(kind, node.url(), PATIENCE_MS);
        for (int round = 0; round < 20; round++) {
            List<Asked> calls = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                calls.add(get(peer, "key" + round + "-" + i));
            }
            for (int i = 0; i < calls.size(); i++) {
                byte[] response = assertInstanceOf(byte[].class, calls.get(i).await());
                assertEquals("/v0/entity?id=key" + round + "-" + i, new String(response, StandardCharsets.US_ASCII));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void nodeThatRefusesConnectionsIsAskedEachTimeAndFoundAsSoonAsItIsBack(ClientKind kind) throws Exception {
        int port = FreePort.next();
        Peer peer = peer(kind, "http://127.0.0.1:" + port, PATIENCE_MS);
        for (int i = 0; i < 20; i++) {
            assertEquals(PeerFailure.UNREACHABLE, get(peer, "a").await());
        }
        assertEquals("unreachable", peer.status().get("state"));
        opened.add(new FakeNode(port, request -> FakeNode.response(200, NO_BYTES)));
        assertInstanceOf(byte[].class, get(peer, "a").await());
        assertEquals("up", peer.status().get("state"));
    }

    /** The connections of before are closed on the other side, which this one may not have noticed yet. */
    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void nodeThatIsStartedAgainIsAskedOverNewConnections(ClientKind kind) throws Exception {
        FakeNode node = node(request -> FakeNode.response(200, NO_BYTES));
        Peer peer = peer(kind, node.url(), PATIENCE_MS);
        for (int i = 0; i < 20; i++) {
            assertInstanceOf(byte[].class, get(peer, "a").await());
            node.breakConnections();
            assertInstanceOf(byte[].class, get(peer, "a").await(), "after restart " + i);
        }
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void nodeThatCallsIsProbedAtOnceAndNodeThatHasStartedIsTakenBack(ClientKind kind) throws Exception {
        AtomicBoolean silent = new AtomicBoolean(true);
        CountDownLatch over = new CountDownLatch(1);
        FakeNode node = node(request -> whenOver(silent, over));
        Peer peer = peer(kind, node.url(), TIMEOUT_MS, false, Integer.MAX_VALUE);
        assertEquals(PeerFailure.TIMED_OUT, get(peer, "a").await());
        assertTrue(peer.isAside());
        peer.restore();
        assertEquals(PeerFailure.TIMED_OUT, get(peer, "a").await(), "a node that has started is asked again");
        silent.set(false);
        over.countDown();
        awaitResponse(peer, peer::heard);
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void nodeThatKeepsSilentCostsOneTimeOutAndIsTakenBackWhenItResponds(ClientKind kind) throws Exception {
        AtomicBoolean silent = new AtomicBoolean(true);
        CountDownLatch over = new CountDownLatch(1);
        FakeNode node = node(request -> whenOver(silent, over));
        Peer peer = peer(kind, node.url());
        assertEquals(PeerFailure.TIMED_OUT, get(peer, "a").await());
        for (int i = 0; i < 1_000; i++) {
            assertEquals(PeerFailure.SET_ASIDE, get(peer, "a").await());
        }
        assertTrue(node.seen().stream().filter(seen -> seen.line().contains("entity")).count() <= 1,
                "nobody was sent to a node that was set aside");
        silent.set(false);
        over.countDown();
        awaitResponse(peer, () -> { });
    }

    @ParameterizedTest
    @CsvSource({"ONE_NIO, false", "ONE_NIO, true", "JDK, false", "JDK, true"})
    void callsThatWaitForAThreadDoNotWaitForANodeThatIsKnownToBeSilent(ClientKind kind, boolean lock) throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        FakeNode node = node(request -> {
            over.await();
            return FakeNode.response(200, NO_BYTES);
        });
        Peer peer = peer(kind, node.url(), TIMEOUT_MS, lock);
        List<Asked> calls = IntStream.range(0, 10 * THREADS).mapToObj(i -> get(peer, "key" + i)).toList();
        // With the lock, the next one may have its turn just before the node is set aside.
        int sent = lock ? 2 : THREADS;
        int timedOut = 0;
        for (Asked call : calls) {
            Object end = call.await();
            assertTrue(end == PeerFailure.TIMED_OUT || end == PeerFailure.SET_ASIDE
                    || lock && end == PeerFailure.OVERLOADED, () -> "a call ended with " + end);
            timedOut += end == PeerFailure.TIMED_OUT ? 1 : 0;
        }
        assertTrue(timedOut >= 1 && timedOut <= sent, timedOut + " calls paid a time-out");
        over.countDown();
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void connectionThatBreaksFailsItsCallsAndTheNextOnesGoOverANewOne(ClientKind kind) throws Exception {
        FakeNode node = node(request -> request.line().contains("break") ? null : FakeNode.response(200, NO_BYTES));
        Peer peer = peer(kind, node.url(), PATIENCE_MS);
        for (int i = 0; i < 3; i++) {
            assertInstanceOf(byte[].class, get(peer, "good").await());
            assertEquals(PeerFailure.UNREACHABLE, get(peer, "break").await());
            assertFalse(peer.isAside(), "it costs nothing to try again");
        }
        assertTrue(node.connections() > 1);
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void nodeThatFailsOrTalksNonsenseIsNoResponse(ClientKind kind) throws Exception {
        FakeNode node = node(request -> request.line().contains("nonsense")
                ? "SSH-2.0-OpenSSH\r\n\r\n".getBytes(StandardCharsets.US_ASCII)
                : FakeNode.response(request.line().contains("status") ? 200 : 500, NO_BYTES));
        Peer peer = peer(kind, node.url(), PATIENCE_MS);
        assertEquals(PeerFailure.REFUSED, get(peer, "a").await());
        assertEquals(PeerFailure.REFUSED, put(peer, new byte[] {1}, NO_BYTES).await());
        assertFalse(peer.isAside(), "a node that responds is there");
        assertEquals(PeerFailure.UNREACHABLE, get(peer, "nonsense").await());
    }

    @Test
    void responsesThatLieInTheSocketCountAlthoughThisNodeWasHeldUpBeyondTheTimeOut() throws Exception {
        CountDownLatch sent = new CountDownLatch(1);
        CountDownLatch heldUp = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        FakeNode node = node(request -> {
            (request.line().contains("arrives") ? heldUp : sent).await();
            return FakeNode.response(200, NO_BYTES);
        });
        int timeoutMs = 2_000;
        Peer peer = peer(ClientKind.PIPELINED, node.url(), timeoutMs);
        peer.send(new PeerCall(PeerCall.Kind.GET, new byte[] {'a'}, null) {

            private static final long serialVersionUID = 1L;

            @Override
            void responded(byte[] stored) {
                heldUp.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }

            @Override
            void failed(PeerFailure failure) {
                throw new AssertionError(failure);
            }
        });
        Asked arrives = get(peer, "arrives");
        while (node.unread() == 0) { // else this node may be held up before it has sent it
            Thread.sleep(1);
        }
        sent.countDown();
        heldUp.await();
        Asked waits = get(peer, "waits");
        // Both are overdue, the first by so much that the connection would be given up.
        Thread.sleep(2 * timeoutMs + timeoutMs / 4);
        goOn.countDown();
        assertEquals(PeerFailure.OVERLOADED, waits.await(), "it never left this node, so nobody else is to blame");
        assertInstanceOf(byte[].class, arrives.await());
        assertFalse(peer.isAside());
    }

    @Test
    void callsWithoutAResponseTakeNoThreadOfThePipelinedClient() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        FakeNode node = node(request -> {
            over.await();
            return FakeNode.response(200, NO_BYTES);
        });
        Peer peer = peer(ClientKind.PIPELINED, node.url(), 5_000);
        int before = Thread.activeCount();
        List<Asked> calls = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            calls.add(get(peer, "key" + i));
        }
        assertTrue(Thread.activeCount() - before < 20, "threads " + Thread.activeCount() + ", before " + before);
        over.countDown();
        for (Asked call : calls) {
            assertInstanceOf(byte[].class, call.await());
        }
    }

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void callsUnderWayFailWhenTheNodeStops(ClientKind kind) throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        FakeNode node = node(request -> {
            over.await();
            return FakeNode.response(200, NO_BYTES);
        });
        // One-nio's client cannot be interrupted, so it ends by its time-out; the others end at once.
        Peer peer = peer(kind, node.url(), kind == ClientKind.ONE_NIO ? 1_000 : 60_000);
        List<Asked> calls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            calls.add(get(peer, "key" + i));
        }
        prober.shutdownNow();
        opened.removeFirst().close();
        for (Asked call : calls) {
            assertInstanceOf(PeerFailure.class, call.end.getNow("still under way"));
        }
        over.countDown();
    }
}
