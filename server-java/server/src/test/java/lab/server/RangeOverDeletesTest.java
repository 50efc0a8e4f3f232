package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.SteppingCursor;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A range over many deletes shares its thread with other requests. */
class RangeOverDeletesTest {

    /** A store whose ranges find nothing but deletes until they are ended. */
    private static final class DeletesWithoutEnd extends HeldStorage {

        private final CountDownLatch reached = new CountDownLatch(1);
        private volatile boolean ended;

        @Override
        public Cursor range(MemorySegment from, MemorySegment to) {
            return new SteppingCursor() {

                @Override
                public Step step() {
                    reached.countDown();
                    return ended ? Step.END : Step.PASSED;
                }

                @Override
                public MemorySegment key() {
                    throw new UnsupportedOperationException();
                }

                @Override
                public MemorySegment value() {
                    throw new UnsupportedOperationException();
                }

                @Override
                public void close() {
                    // Holds nothing.
                }
            };
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"selector", "blocking-pool", "pool", "virtual"})
    void otherRequestsOfTheSelectorAreServedMeanwhile(String execution) throws Exception {
        DeletesWithoutEnd storage = new DeletesWithoutEnd();
        try (TestServer server = TestServer.start(storage, "--selectors", "1", "--execution", execution);
                RawClient ranging = new RawClient(server.port()); RawClient other = new RawClient(server.port())) {
            ranging.send("GET /v0/entities?start=k HTTP/1.1\r\nHost: test\r\n\r\n");
            storage.reached.await();
            try {
                assertEquals(404, other.ask("GET", "/v0/entity?id=absent").status());
            } finally {
                storage.ended = true;
            }
            RawClient.Response range = ranging.read();
            assertEquals(200, range.status());
            assertEquals("", range.text());
            assertEquals(404, ranging.ask("GET", "/v0/entity?id=absent").status(), "the connection goes on");
        }
    }

    @Test
    void whatLiesBehindManyDeletesIsShown(@TempDir Path folder) throws Exception {
        try (LsmStorage store = new LsmStorage(folder, LsmOptions.defaults());
                TestServer server = TestServer.start(store)) {
            for (int key = 0; key < 20_000; key++) {
                store.delete(Bytes.utf8(String.format("k%05d", key)));
                if (key == 10_000) {
                    store.flush();
                }
            }
            store.put(Bytes.utf8("l"), Bytes.utf8("value"));
            try (RawClient client = new RawClient(server.port())) {
                assertEquals("l\nvalue", client.ask("GET", "/v0/entities?start=a").text());
                client.send("GET /v0/entities?start=a HTTP/1.0\r\n\r\n");
                assertEquals("l\nvalue", client.read().text());
            }
        }
    }
}
