package lab.stress.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import lab.storage.Storage;
import lab.storage.conformance.Length;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A process killed at any moment under load loses no write that it acknowledged, brings no deleted key back, and leaves
 * no part of a batch.
 */
class KillTest {

    private static final int SHORT_CYCLES = 4;
    private static final int LONG_CYCLES = 200;
    private static final int SHORTEST_RUN_MS = Length.of(100, 200);
    private static final int LONGEST_RUN_MS = Length.of(300, 800);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(value = LsmOptions.Wal.class, names = {"BUFFERED", "SYNC"})
    void killedWriterLosesNothingThatWasAcknowledged(LsmOptions.Wal wal) throws Exception {
        int cycles = Length.of(SHORT_CYCLES, LONG_CYCLES);
        Random random = new Random(1);
        Path store = folder.resolve("store");
        Path notes = folder.resolve("notes");
        for (int cycle = 0; cycle < cycles; cycle++) {
            Process writer = start(store, notes, cycle, wal);
            try (BufferedReader output = new BufferedReader(new InputStreamReader(writer.getInputStream(),
                    StandardCharsets.UTF_8))) {
                assertEquals("writing", output.readLine(), "cycle " + cycle);
                Thread.sleep(SHORTEST_RUN_MS + random.nextInt(LONGEST_RUN_MS - SHORTEST_RUN_MS));
                assertTrue(writer.isAlive(), "the writer died by itself");
            } finally {
                writer.destroyForcibly().waitFor();
            }
        }
        long writes = 0;
        try (Arena arena = Arena.ofConfined();
                Storage storage = new LsmStorage(store, CrashingWriter.options(cycles, wal))) {
            MemorySegment acknowledged = CrashingWriter.notes(notes, arena);
            for (int writer = 0; writer < CrashingWriter.WRITERS; writer++) {
                long count = acknowledged.getAtIndex(ValueLayout.JAVA_LONG, writer);
                assertTrue(new Script(writer).shown(storage, count) >= count, "a write of writer " + writer + " is lost");
                writes += count;
            }
        }
        assertTrue(writes > 0);
        System.out.println(wal + ": killed " + cycles + " times under load; " + writes + " acknowledged writes, none lost, no "
                + "deleted key back");
    }

    private static Process start(Path store, Path notes, int cycle, LsmOptions.Wal wal) throws IOException {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow", "-cp", System.getProperty("java.class.path"),
                CrashingWriter.class.getName(), store.toString(), notes.toString(), Integer.toString(cycle),
                wal.name())
                .redirectErrorStream(true).start();
    }
}
