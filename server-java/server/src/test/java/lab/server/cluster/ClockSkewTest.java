package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A write that was acknowledged is the last one, whatever the clocks of the nodes say. */
class ClockSkewTest {

    private static final String[] AHEAD = {"--clock-offset-ms", "300000"};
    private static final String[] BEHIND = {"--clock-offset-ms", "-300000"};

    private static final int WRITERS = 6;
    private static final int WRITES = 100;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void nodesWhoseClocksDifferByMinutesWriteInTurn(ClientKind client) throws Exception {
        try (SeparateNodes nodes = new SeparateNodes(3, folder, "--client", client.toString())) {
            nodes.start(0, AHEAD);
            nodes.start(1);
            nodes.start(2, BEHIND);
            for (String parameters : new String[] {"&ack=2&from=3", "&ack=3&from=3", "&from=1"}) {
                for (int i = 0; i < 12; i++) {
                    String key = "key" + i + parameters.length();
                    assertEquals(201, nodes.put(0, key, "first", parameters));
                    assertEquals(201, nodes.put(2, key, "second", parameters));
                    assertEquals("second", nodes.get(i % 3, key, parameters));
                    assertEquals(201, nodes.put(0, key, "third", parameters));
                    assertEquals(202, nodes.delete(1, key, parameters));
                    assertEquals("404", nodes.get(i % 3, key, parameters));
                }
            }
        }
    }

    /** Years are what a clock without a battery is off by. */
    @ParameterizedTest
    @ValueSource(longs = {60_000, 3_600_000, 1_000_000_000_000L})
    void clockThatIsSetBackWhileItsNodeIsDownLosesNothing(long backMs) throws Exception {
        try (SeparateNodes nodes = new SeparateNodes(2, folder)) {
            nodes.start(0);
            nodes.start(1);
            for (int i = 0; i < 6; i++) {
                assertEquals(201, nodes.put(0, "key" + i, "old", "&ack=2&from=2"));
                assertEquals(201, nodes.put(0, "one" + i, "old", "&from=1"));
            }
            for (int node = 0; node < 2; node++) {
                nodes.stop(node);
                nodes.start(node, "--clock-offset-ms", Long.toString(-backMs));
            }
            for (int i = 0; i < 6; i++) {
                assertEquals(201, nodes.put(i % 2, "key" + i, "new", "&ack=1&from=2"));
                assertEquals(201, nodes.put(i % 2, "one" + i, "new", "&from=1"));
                assertEquals("new", nodes.get(1 - i % 2, "key" + i, "&ack=2&from=2"));
                assertEquals("new", nodes.get(1 - i % 2, "one" + i, "&from=1"));
            }
        }
    }

    /** The second write reaches a replica that has never seen the key, so that no refusal helps: the clock must know. */
    @Test
    void nodeRemembersWhatItStoredWhenItsClockIsSetBack() throws Exception {
        try (SeparateNodes nodes = new SeparateNodes(2, folder)) {
            nodes.start(0, AHEAD);
            assertEquals(201, nodes.put(0, "key", "old", "&ack=1&from=2"));
            nodes.stop(0);
            nodes.start(1);
            nodes.start(0, BEHIND);
            assertEquals(201, nodes.put(0, "key", "new", "&ack=1&from=2"));
            assertEquals("new", nodes.get(0, "key", "&ack=2&from=2"));
        }
    }

    @Test
    void clockObservesWhatOtherNodesRespond() throws Exception {
        try (SeparateNodes nodes = new SeparateNodes(2, folder)) {
            nodes.start(0, AHEAD);
            assertEquals(201, nodes.put(0, "key", "old", "&ack=1&from=2"));
            nodes.start(1, BEHIND);
            assertEquals(0, nodes.counter(1, "clock_ahead_ms"));
            assertEquals("old", nodes.get(1, "key", "&ack=2&from=2"));
            long ahead = nodes.counter(1, "clock_ahead_ms");
            assertTrue(ahead > 300_000, "ahead by " + ahead + " ms");
        }
    }

    @Test
    void writersThatCompeteForOneKeyAreNeverTurnedAway() throws Exception {
        try (SeparateNodes nodes = new SeparateNodes(3, folder);
                ExecutorService threads = Executors.newFixedThreadPool(WRITERS)) {
            nodes.start(0, AHEAD);
            nodes.start(1);
            nodes.start(2, BEHIND);
            List<Future<Integer>> writers = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                int node = writer % 3;
                writers.add(threads.submit(() -> {
                    int acknowledged = 0;
                    for (int i = 0; i < WRITES; i++) {
                        acknowledged += nodes.put(node, "key", node + "-" + i, "&ack=2&from=3") == 201 ? 1 : 0;
                    }
                    return acknowledged;
                }));
            }
            for (Future<Integer> writer : writers) {
                assertEquals(WRITES, writer.get());
            }
            assertEquals(201, nodes.put(2, "key", "last", "&ack=2&from=3"));
            for (int node = 0; node < 3; node++) {
                assertEquals("last", nodes.get(node, "key", "&ack=2&from=3"));
            }
        }
    }
}
