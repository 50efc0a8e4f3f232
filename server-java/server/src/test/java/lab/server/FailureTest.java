package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.EntryTooLargeException;
import lab.storage.Storage;
import lab.storage.StorageBusyException;
import lab.storage.StorageFullException;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** A store that fails gives responses, not silence, whatever front and execution mode. */
@ParameterizedClass
@MethodSource("lab.server.Mode#onMemory")
class FailureTest {

    private final Mode mode;
    private TestServer server;
    private RawClient client;

    FailureTest(Mode mode) {
        this.mode = mode;
    }

    @BeforeEach
    void start() throws IOException {
        server = TestServer.start(new FailingStorage(), mode.flags());
        client = new RawClient(server.port());
    }

    @AfterEach
    void stop() throws IOException {
        client.close();
        server.close();
    }

    @Test
    void failureIsA500WithItsReasonAndTheConnectionGoesOn() throws IOException {
        RawClient.Response put = client.ask("PUT", "/v0/entity?id=a", new byte[10]);
        assertEquals(500, put.status());
        assertTrue(put.text().contains("the disk is gone"), put.text());
        assertEquals(500, client.ask("GET", "/v0/entity?id=a").status());
        assertEquals(500, client.ask("DELETE", "/v0/entity?id=a").status());
        assertEquals(200, client.ask("GET", "/v0/status").status());
        assertEquals(3, server.counter("failed"));
    }

    @Test
    void fullDiskIsA507WithItsRemedyAndReadsGoOn() throws IOException {
        RawClient.Response put = client.ask("PUT", "/v0/entity?id=full", new byte[10]);
        assertEquals(507, put.status());
        assertTrue(put.text().contains("Free space"), put.text());
        assertEquals(200, client.ask("GET", "/v0/status").status());
        assertEquals(0, server.counter("failed"), "a full disk is no failure of the server");
    }

    @Test
    void entryThatTheStoreFindsTooLargeIsA413() throws IOException {
        RawClient.Response put = client.ask("PUT", "/v0/entity?id=large", new byte[10]);
        assertEquals(413, put.status());
        assertTrue(put.text().contains("at most"), put.text());
    }

    @Test
    void rangeThatFailsAtItsStartIsA500() throws IOException {
        assertEquals(500, client.ask("GET", "/v0/entities?start=now").status());
        assertEquals(200, client.ask("GET", "/v0/status").status());
    }

    @Test
    void rangeThatFailsOnTheWayEndsWithoutItsLastChunk() {
        try {
            client.ask("GET", "/v0/entities?start=later");
            throw new AssertionError("the range looked complete");
        } catch (IOException e) {
            assertTrue(e instanceof java.io.EOFException, e.toString());
        } catch (NumberFormatException e) {
            throw new AssertionError("the stream went on with something that is no chunk", e);
        }
    }

    @Test
    void writeThatFoundNoRoomInTimeIsA503ThatMayBeTriedAgain() throws IOException {
        RawClient.Response put = client.ask("PUT", "/v0/entity?id=busy", new byte[10]);
        assertEquals(503, put.status());
        assertEquals("1", put.fields().get("retry-after"));
        assertTrue(put.text().contains("waited too long"), put.text());
        assertEquals(0, server.counter("failed"));
    }

    @Test
    void rangeThatAnErrorEndsOnTheWayEndsWithoutItsLastChunk() {
        assertThrows(EOFException.class, () -> client.ask("GET", "/v0/entities?start=error"));
    }

    @Test
    void failuresThatCannotEvenBeLoggedCostTheirConnectionsAndNoThread() throws IOException {
        for (int i = 0; i < 50; i++) {
            try (RawClient unlucky = new RawClient(server.port())) {
                assertThrows(IOException.class, () -> unlucky.ask("PUT", "/v0/entity?id=twice", new byte[10]));
            }
        }
        assertEquals(507, client.ask("PUT", "/v0/entity?id=full", new byte[10]).status());
    }

    /** Fails once more when it is logged or when its message is sent. */
    private static final class FailingFailure extends Error {

        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new StackOverflowError("the second failure");
        }
    }

    private static final class FailingStorage implements Storage {

        private static IllegalStateException gone() {
            return new IllegalStateException("the disk is gone");
        }

        @Override
        public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) {
            throw gone();
        }

        @Override
        public void put(MemorySegment key, MemorySegment value) {
            switch (Bytes.text(key)) {
                case "full" -> throw new StorageFullException("The disk is full. Free space.", null);
                case "busy" -> throw new StorageBusyException("The write waited too long. Try again later.");
                case "large" -> throw new EntryTooLargeException("The value has 10 bytes; at most 9 are taken.");
                case "twice" -> throw new FailingFailure();
                default -> throw gone();
            }
        }

        @Override
        public void delete(MemorySegment key) {
            throw new StackOverflowError("errors too");
        }

        @Override
        public Cursor range(MemorySegment from, MemorySegment to) {
            int good = from.byteSize() == "now".length() ? 0 : 1_000;
            return new Cursor() {
                private int shown;

                @Override
                public boolean next() {
                    if (shown++ == good) {
                        if (from.byteSize() == "error".length() && from.get(ValueLayout.JAVA_BYTE, 1) == 'r') {
                            throw new StackOverflowError("errors too");
                        }
                        throw gone();
                    }
                    return true;
                }

                @Override
                public MemorySegment key() {
                    return MemorySegment.ofArray(new byte[100]);
                }

                @Override
                public MemorySegment value() {
                    return MemorySegment.ofArray(new byte[1_000]);
                }

                @Override
                public void close() {
                    // Holds nothing.
                }
            };
        }

        @Override
        public void flush() {
            throw gone();
        }

        @Override
        public String engine() {
            return "failing";
        }

        @Override
        public Map<String, Object> settings() {
            return Map.of();
        }

        @Override
        public StorageStats stats() {
            return StorageStats.EMPTY;
        }

        @Override
        public void close() {
            // Holds nothing.
        }
    }
}
