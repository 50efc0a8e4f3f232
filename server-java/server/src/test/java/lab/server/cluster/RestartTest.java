package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A node that has just been started is part of its cluster as soon as it says that it is ready. */
class RestartTest {

    private static final int RESTARTS = Length.of(2, 100);
    /** No probe comes in time, so none is needed. */
    private static final String[] NEVER_PROBED = {"--peer-retry-ms", "3600000"};

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(ClientKind.class)
    void nodeIsUsedAsSoonAsItIsReady(ClientKind client) throws Exception {
        try (SeparateNodes nodes = new SeparateNodes(2, folder, "--client", client.toString())) {
            nodes.start(0, NEVER_PROBED);
            nodes.start(1, NEVER_PROBED);
            for (int restart = 0; restart < RESTARTS; restart++) {
                assertEquals(201, nodes.put(1, "key", "before", "&ack=2&from=2"));
                nodes.stop(0);
                assertEquals(201, nodes.put(1, "key", "without", "&ack=1&from=2"));
                assertEquals(504, nodes.put(1, "other", "without", "&ack=2&from=2"));
                nodes.start(0, NEVER_PROBED);
                assertEquals(201, nodes.put(1, "key", "after " + restart, "&ack=2&from=2"), "restart " + restart);
                assertEquals("after " + restart, nodes.get(0, "key", "&ack=2&from=2"));
            }
        }
    }

    @Test
    void nodeThatWasSilentBeforeItsRestartIsTakenBackWhenItAnnouncesItself() throws Exception {
        try (SeparateNodes nodes = new SeparateNodes(2, folder, "--peer-retry-ms", "3600000")) {
            CountDownLatch over = new CountDownLatch(1);
            nodes.start(1, "--peer-timeout-ms", "2000");
            try (FakeNode silent = new FakeNode(nodes.port(0), request -> {
                over.await();
                return null;
            })) {
                assertEquals(504, nodes.put(1, "key", "old", "&ack=2&from=2"));
                assertTrue(nodes.status(1).contains("set aside"), nodes.status(1));
                assertTrue(silent.connections() > 0);
            }
            over.countDown();
            nodes.start(0);
            assertEquals(201, nodes.put(0, "key", "new", "&ack=1&from=2"));
            assertTrue(nodes.status(1).contains("\"state\":\"up\""), nodes.status(1));
            assertEquals("new", nodes.get(1, "key", "&ack=2&from=2"));
        }
    }
}
