package lab.stress.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.storage.conformance.ShortLived;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A file system without room, under every engine that keeps files: writes are refused with 507 and what to do. With ours,
 * what was acknowledged with 201 can be read, and writes are taken again once there is room. RocksDB reads on and takes no write
 * until it is started again; LevelDB stops reading too. They say so.
 */
class FullFileSystemTest {

    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final Pattern PORT = Pattern.compile("\"port\":(\\d+)");
    private static final int MIB = 1 << 20;
    private static final int BYTES = 48 * MIB;
    private static final int BALLAST = 24 * MIB;
    private static final int VALUE_BYTES = 64 * 1024;
    /** So often, every millisecond; a memtable takes some sixty writes, so a merge may take so many times as long. */
    private static final int MERGE_CHECKS = 100;
    private static final int CREATED = 201;
    private static final int FULL = 507;

    @TempDir
    private Path folder;

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private String url;

    private static byte[] value(int number) {
        byte[] value = new byte[VALUE_BYTES];
        Arrays.fill(value, (byte) ('a' + number % 26));
        return value;
    }

    private HttpResponse<byte[]> ask(String method, int number, byte[] body) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/v0/entity?id=key" + number)).timeout(PATIENCE)
                .method(method, body == null ? HttpRequest.BodyPublishers.noBody()
                        : HttpRequest.BodyPublishers.ofByteArray(body)).build();
        return http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    }

    private HttpResponse<byte[]> put(int number) throws IOException, InterruptedException {
        return ask("PUT", number, value(number));
    }

    private void readAll(int count) throws IOException, InterruptedException {
        for (int i = 0; i < count; i++) {
            HttpResponse<byte[]> response = ask("GET", i, null);
            assertEquals(200, response.statusCode(), "the write " + i + " of " + count + " that was acknowledged is lost");
            assertArrayEquals(value(i), response.body());
        }
    }

    private List<String> server(String engine, Path data) {
        List<String> command = new ArrayList<>(ShortLived.JVM);
        command.addFirst(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx96m", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow", "-cp", System.getProperty("java.class.path"), "lab.server.Main",
                "--engine", engine, "--data", data.resolve("store").toString(), "--host", "127.0.0.1", "--port", "0"));
        if (engine.equals("lsm")) {
            command.addAll(List.of("--flush-threshold-bytes", Integer.toString(4 * MIB), "--max-value-bytes",
                    Integer.toString(MIB)));
        }
        return command;
    }

    @ParameterizedTest
    @CsvSource({"lsm, true, true", "files, true, true", "rocksdb, true, false", "leveldb, false, false"})
    void writesAreRefusedWithoutRoom(String engine, boolean readsGoOn, boolean takesWritesAgain) throws Exception {
        Path data = Files.createDirectories(folder.resolve("disk"));
        assumeTrue(SmallFileSystem.isPossible(data), "no file system of one's own can be made here");
        try (SmallFileSystem disk = SmallFileSystem.run(data, BYTES, BALLAST, folder.resolve("errors"),
                server(engine, data))) {
            String ready = disk.process().inputReader().readLine();
            assertNotNull(ready, () -> "the server did not start: " + errors());
            Matcher port = PORT.matcher(ready);
            assertTrue(port.find(), ready);
            url = "http://127.0.0.1:" + port.group(1);
            int taken = fill(() -> {
                if (engine.equals("leveldb")) {
                    awaitMerges(disk, data.resolve("store"));
                }
            }, readsGoOn, takesWritesAgain);
            if (readsGoOn) {
                readAll(taken);
            }
            if (takesWritesAgain) {
                disk.makeRoom();
                awaitWrite(taken);
                readAll(taken + 1);
            }
            System.out.println(engine + ": " + taken + " values of " + VALUE_BYTES + " bytes, then 507"
                    + (readsGoOn ? "; all of them read" : "") + (takesWritesAgain ? ", and writes taken again with room" : ""));
        }
    }

    /** Writes until there is no room twice in a row, for a merge may make some; gives how many were taken. */
    private int fill(Pause beforeEach, boolean readsGoOn, boolean takesWritesAgain)
            throws IOException, InterruptedException {
        int taken = 0;
        List<HttpResponse<byte[]>> refusals = new ArrayList<>();
        while (refusals.size() < 2) {
            beforeEach.await();
            HttpResponse<byte[]> response = put(taken);
            if (response.statusCode() == CREATED) {
                assertTrue(refusals.isEmpty() || takesWritesAgain, "a write was taken without a new start");
                assertTrue(++taken < BYTES / VALUE_BYTES, "more was acknowledged than the disk has room for");
                refusals.clear();
            } else {
                refusals.add(response);
            }
        }
        for (HttpResponse<byte[]> refused : refusals) {
            String text = new String(refused.body(), StandardCharsets.UTF_8);
            assertEquals(FULL, refused.statusCode(), text);
            assertTrue(text.contains("the disk is full") && text.contains("Free space"), text);
            assertEquals(readsGoOn, text.contains("Reads go on"), text);
            assertEquals(!takesWritesAgain, text.contains("start the server again"), text);
        }
        return taken;
    }

    /**
     * Waits a little while LevelDB writes a memtable to a table, which has a log until then. A write that finds the next one
     * full meanwhile waits for that, and where it fails for lack of room, without end.
     */
    private static void awaitMerges(SmallFileSystem disk, Path store) throws IOException, InterruptedException {
        for (int i = 0; i < MERGE_CHECKS && disk.count(store, ".log") > 1; i++) {
            Thread.sleep(1);
        }
    }

    private interface Pause {
        void await() throws IOException, InterruptedException;
    }

    private void awaitWrite(int number) throws IOException, InterruptedException {
        long until = System.nanoTime() + PATIENCE.toNanos();
        HttpResponse<byte[]> response = put(number);
        while (response.statusCode() != CREATED) {
            assertEquals(FULL, response.statusCode());
            assertTrue(System.nanoTime() < until, "there is room, but no write is taken");
            response = put(number);
        }
    }

    private String errors() {
        try {
            return Files.readString(folder.resolve("errors"));
        } catch (IOException e) {
            return e.toString();
        }
    }
}
