package lab.storage.lsm.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.disk.Encoding;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the check of mapped bytes. */
class BlockChecksumsTest {

    private static final int BYTES = 50_000;
    private static final int FROM = 1_234;

    @TempDir
    Path folder;

    @Test
    void mappedPartIsRightUntilAByteOfItIsFlipped() throws IOException {
        Path file = file();
        try (Arena arena = Arena.ofConfined();
                FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment data = channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena);
            BlockChecksums checks = checks(file, channel);
            int expected = Encoding.checksum(data, FROM, BYTES);
            assertTrue(checks.isRight(data, FROM, BYTES, expected));
            for (int at : new int[] {FROM, BYTES / 2, BYTES - 1}) {
                byte was = data.get(Encoding.BYTE, at);
                data.set(Encoding.BYTE, at, (byte) ~was);
                assertFalse(checks.isRight(data, FROM, BYTES, expected), "byte " + at);
                data.set(Encoding.BYTE, at, was);
            }
            data.set(Encoding.BYTE, FROM - 1, (byte) ~data.get(Encoding.BYTE, FROM - 1));
            assertTrue(checks.isRight(data, FROM, BYTES, expected), "a byte before it does not count");
        }
    }

    @Test
    void pageThatCannotBeReadDoesNotEndTheProcess() throws IOException {
        Path file = file();
        int wrong = 0;
        for (int round = 0; round < 50; round++) {
            Files.write(file, new byte[BYTES]);
            try (Arena arena = Arena.ofConfined();
                    FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                MemorySegment data = channel.map(FileChannel.MapMode.READ_ONLY, 0, BYTES, arena);
                int expected = Encoding.checksum(data, FROM, BYTES);
                channel.truncate(0);
                wrong += isWrong(checks(file, channel), data, expected) ? 1 : 0;
            }
        }
        assertEquals(50, wrong);
    }

    /** The kernel's signal becomes an error of Java's, at once or a little later, and what was copied is not the file's. */
    private static boolean isWrong(BlockChecksums checks, MemorySegment data, int expected) {
        try {
            boolean right = checks.isRight(data, FROM, BYTES, expected);
            Thread.yield();
            return !right;
        } catch (InternalError e) {
            return true;
        }
    }

    private static BlockChecksums checks(Path file, FileChannel channel) {
        return new BlockChecksums(Disk.REAL, file, channel, 1, true);
    }

    private Path file() throws IOException {
        byte[] bytes = new byte[BYTES];
        new Random(1).nextBytes(bytes);
        return Files.write(folder.resolve("data"), bytes);
    }
}
