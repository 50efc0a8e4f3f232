package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import lab.server.RawClient;
import lab.server.TestServer;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a client sees when the disk under the store has no room: its write is refused with 507, everything that was
 * acknowledged with 201 can be read, and writes are taken again once there is room.
 */
class FullDiskOverHttpTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(120);
    private static final int VALUE_BYTES = 1_000;
    private static final int WRITES_BEFORE = 100;
    /** More than what is left of the disk and all memtables have room for. */
    private static final int MOST_WRITES = 5_000;

    @TempDir
    private Path folder;

    private final FullDisk disk = new FullDisk();
    private TestServer server;
    private RawClient client;

    @BeforeEach
    void start() throws IOException {
        LsmOptions options = LsmOptions.builder().flushThresholdBytes(256 * 1024)
                .compaction(LsmOptions.Compaction.SIZE_TIERED).maxKeyBytes(100).maxValueBytes(10_000).build();
        server = TestServer.start(new LsmStorage(folder, options, disk));
        client = new RawClient(server.port());
    }

    @AfterEach
    void stop() throws IOException {
        client.close();
        server.close();
    }

    private static byte[] value(int number) {
        byte[] value = new byte[VALUE_BYTES];
        Arrays.fill(value, (byte) ('a' + number % 26));
        return value;
    }

    private RawClient.Response put(int number) throws IOException {
        return client.ask("PUT", "/v0/entity?id=key" + number, value(number));
    }

    private void readAll(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            RawClient.Response response = client.ask("GET", "/v0/entity?id=key" + i);
            assertEquals(200, response.status(), "the write " + i + " that was acknowledged is lost");
            assertArrayEquals(value(i), response.body());
        }
        byte[] range = client.ask("GET", "/v0/entities?start=key0&end=key1").body();
        assertEquals("key0\n" + new String(value(0), StandardCharsets.UTF_8), new String(range, StandardCharsets.UTF_8));
    }

    /** Writes until it is refused twice in a row: the next memtable may come a little after the first refusal. */
    private int putUntilRefused(int from) throws IOException {
        int taken = from;
        for (int refusals = 0; refusals < 2 && taken < MOST_WRITES;) {
            RawClient.Response response = put(taken);
            if (response.status() == 201) {
                taken++;
                refusals = 0;
            } else {
                assertTellsWhatToDo(response);
                refusals++;
            }
        }
        return taken;
    }

    private void assertTellsWhatToDo(RawClient.Response response) {
        assertEquals(507, response.status());
        for (String part : new String[] {"the disk is full", "Free space", "Reads go on"}) {
            assertTrue(response.text().contains(part), response.text());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {".log", ".table"})
    void writesAreRefusedAndReadsGoOnUntilThereIsRoom(String fullFor) {
        assertTimeoutPreemptively(TIMEOUT, () -> {
            int taken = 0;
            for (; taken < WRITES_BEFORE; taken++) {
                assertEquals(201, put(taken).status());
            }
            disk.fill(fullFor, 500_000);
            taken = putUntilRefused(taken);
            readAll(taken);
            taken = putUntilRefused(taken);
            assertTrue(taken < MOST_WRITES, taken + " writes were taken without room");
            assertEquals(0, server.counter("failed"), "a full disk is no failure of the server");
            disk.makeRoom();
            while (put(taken).status() != 201) {
                Thread.onSpinWait();
            }
            readAll(taken + 1);
        });
    }
}
