package lab.storage.lsm.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.memory.NativeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** What the kernel is given: whole pieces at their places, so that it can keep each as one huge page, and then the rest. */
class TableOutputTest {

    private static final int TRIES = 200;

    @TempDir
    private Path folder;

    /** Remembers where it had to write and how much. */
    private static final class Recording extends Disk {

        private final List<long[]> writes = new ArrayList<>();

        @Override
        public void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
            writes.add(new long[] {position, bytes.remaining()});
            super.write(channel, bytes, position);
        }
    }

    @Test
    void piecesAreWholeAndAtMultiplesOfTheirSizeWhateverIsAdded() throws IOException {
        Path file = folder.resolve("1.table");
        Recording disk = new Recording();
        Random random = new Random(5);
        byte[] all = new byte[3 * TableOutput.PIECE_BYTES + 12_345];
        random.nextBytes(all);
        try (TableOutput output = new TableOutput(disk, file, new LongAdder())) {
            int at = 0;
            while (at < all.length) {
                // Now and then more than a piece at once, as a large value is.
                int most = random.nextInt(100) == 0 ? 2 * TableOutput.PIECE_BYTES : 40_000;
                int length = Math.min(all.length - at, 1 + random.nextInt(most));
                output.bytes().add(all, at, length);
                output.drain();
                at += length;
                assertEquals(at, output.position());
                assertTrue(output.bytes().size() < TableOutput.PIECE_BYTES);
            }
            output.finish();
        }
        assertArrayEquals(all, Files.readAllBytes(file));
        long[] rest = disk.writes.removeLast();
        assertEquals(3, disk.writes.size());
        for (int i = 0; i < 3; i++) {
            assertArrayEquals(new long[] {(long) i * TableOutput.PIECE_BYTES, TableOutput.PIECE_BYTES},
                    disk.writes.get(i));
        }
        assertArrayEquals(new long[] {3L * TableOutput.PIECE_BYTES, 12_345}, rest);
    }

    @Test
    void aligningAddsZerosUpToTheNextMultipleOnly() throws IOException {
        Path file = folder.resolve("2.table");
        byte[] ones = new byte[TableOutput.PIECE_BYTES + 3];
        Arrays.fill(ones, (byte) 1);
        try (TableOutput output = new TableOutput(Disk.REAL, file, new LongAdder())) {
            output.bytes().add(ones, 0, ones.length);
            output.drain();
            output.align(64);
            assertEquals(TableOutput.PIECE_BYTES + 64, output.position());
            output.align(64);
            assertEquals(TableOutput.PIECE_BYTES + 64, output.position());
            output.finish();
        }
        assertArrayEquals(Arrays.copyOf(ones, TableOutput.PIECE_BYTES + 64), Files.readAllBytes(file));
    }

    @Test
    void aFileThatIsNotFinishedIsRemoved() throws IOException {
        Path file = folder.resolve("3.table");
        try (TableOutput output = new TableOutput(Disk.REAL, file, new LongAdder())) {
            output.bytes().add(new byte[10], 0, 10);
            assertTrue(Files.exists(file));
        }
        assertFalse(Files.exists(file));
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aFileThatCannotBeMadeCostsNoMemoryHoweverOftenItIsTried() throws IOException {
        Disk broken = new Disk() {
            @Override
            public FileChannel create(Path file) throws IOException {
                throw new IOException("No space left on device");
            }
        };
        tryToWrite(broken, 1);
        long before = residentBytes();
        tryToWrite(broken, TRIES);
        long grown = residentBytes() - before;
        assertTrue(grown < TRIES / 4L * TableOutput.PIECE_BYTES, TRIES + " tries took " + grown + " bytes");
    }

    private void tryToWrite(Disk disk, int times) {
        for (int i = 0; i < times; i++) {
            assertThrows(IOException.class, () -> new TableWriter(disk, folder.resolve("4.table"), 10,
                    Compression.NONE, new LiveEstimate(List.of()), new LongAdder()));
        }
    }

    /** What the process takes without mapped files. */
    private static long residentBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("RssAnon:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        throw new IOException("The kernel does not tell RssAnon.");
    }

    @Test
    void bufferOfTheLargestBlockGrowsToWhatCanBeShown() {
        assertEquals(8_192, NativeBuffer.grown(4_096, 4_097));
        assertEquals(1 << 20, NativeBuffer.grown(4_096, 1 << 20));
        long value = 1L << 30;
        long keyAndTail = 100_000;
        long grown = NativeBuffer.grown(NativeBuffer.grown(TableOutput.PIECE_BYTES, TableOutput.PIECE_BYTES + value),
                TableOutput.PIECE_BYTES + value + keyAndTail);
        assertTrue(grown < Integer.MAX_VALUE - 8, "the buffer has " + grown + " bytes");
    }
}
