package lab.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that is killed under load has every write that it acknowledged when it is started again. */
class KillTest {

    private static final int CYCLES = Length.of(2, 100);
    private static final int WRITERS = 4;
    private static final int KEYS = 50;
    /** Writes that each writer has acknowledged in a cycle before the server is killed. */
    private static final int PROGRESS = 100;

    @TempDir
    private Path folder;
    /** Number of the last acknowledged write of each writer. */
    private final AtomicIntegerArray acknowledged = new AtomicIntegerArray(WRITERS);

    @ParameterizedTest
    @ValueSource(strings = {"buffered", "sync"})
    void killedServerLosesNothingThatItAcknowledged(String wal) throws Exception {
        if (wal.equals("sync")) {
            Length.assumeLong(); // of a killed process the system writes what is buffered, too
        }
        for (int cycle = 0; cycle < CYCLES; cycle++) {
            try (ServerProcess server = start(wal)) {
                int port = ServerProcess.port(server.readyLine());
                check(port);
                AtomicReference<AssertionError> wrong = new AtomicReference<>();
                int[] until = new int[WRITERS];
                List<Thread> writers = new ArrayList<>();
                for (int writer = 0; writer < WRITERS; writer++) {
                    int number = writer;
                    until[writer] = acknowledged.get(writer) + PROGRESS;
                    writers.add(Thread.ofVirtual().start(() -> write(number, port, wrong)));
                }
                for (int writer = 0; writer < WRITERS; writer++) {
                    while (acknowledged.get(writer) < until[writer] && writers.get(writer).isAlive()) {
                        Thread.sleep(1);
                    }
                }
                server.kill();
                for (Thread writer : writers) {
                    writer.join();
                }
                if (wrong.get() != null) {
                    throw wrong.get();
                }
                for (int writer = 0; writer < WRITERS; writer++) {
                    assertTrue(acknowledged.get(writer) >= until[writer], "a writer stopped by itself");
                }
            }
        }
        try (ServerProcess server = start(wal)) {
            check(ServerProcess.port(server.readyLine()));
        }
        long writes = 0;
        for (int writer = 0; writer < WRITERS; writer++) {
            writes += acknowledged.get(writer);
        }
        System.out.println("server, " + wal + ": killed " + CYCLES + " times under load; " + writes
                + " acknowledged writes, none lost, no deleted key back");
    }

    private ServerProcess start(String wal) throws IOException {
        return ServerProcess.start(folder.resolve("errors.log"), List.of("-Xmx64m", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"),
                "--engine", "lsm", "--wal", wal, "--flush-threshold-bytes", "65536", "--data",
                folder.resolve(wal).toString(), "--port", "0");
    }

    /** Write number n of a writer puts n under key n modulo the number of keys, and deletes it each seventh time. */
    private void write(int writer, int port, AtomicReference<AssertionError> wrong) {
        try (RawClient client = new RawClient(port)) {
            while (true) {
                int next = acknowledged.get(writer) + 1;
                int status = isDelete(next) ? client.ask("DELETE", target(writer, next)).status()
                        : client.ask("PUT", target(writer, next), value(next)).status();
                if (status != (isDelete(next) ? 202 : 201)) {
                    wrong.set(new AssertionError("write " + next + " got the response " + status));
                    return;
                }
                acknowledged.set(writer, next);
            }
        } catch (IOException e) {
            // The server was killed. Whether the last write is stored is not known.
        }
    }

    private void check(int port) throws IOException {
        try (RawClient client = new RawClient(port)) {
            for (int writer = 0; writer < WRITERS; writer++) {
                int last = acknowledged.get(writer);
                for (int n = Math.max(1, last - KEYS + 1); n <= last; n++) {
                    RawClient.Response response = client.ask("GET", target(writer, n));
                    String shown = response.status() == 404 ? "nothing" : response.text().strip();
                    String expected = isDelete(n) ? "nothing" : Integer.toString(n);
                    // The write after the last acknowledged one may have been stored as well.
                    boolean overwritten = n == last + 1 - KEYS;
                    String later = isDelete(last + 1) ? "nothing" : Integer.toString(last + 1);
                    assertTrue(shown.equals(expected) || overwritten && shown.equals(later),
                            "write " + n + " of writer " + writer + " is lost: the store shows " + shown);
                }
            }
        }
    }

    private static boolean isDelete(int number) {
        return number % 7 == 0;
    }

    private static String target(int writer, int number) {
        return "/v0/entity?id=writer" + writer + "-" + number % KEYS;
    }

    private static byte[] value(int number) {
        return (number + " ".repeat(number % 1_000)).getBytes(StandardCharsets.UTF_8);
    }
}
