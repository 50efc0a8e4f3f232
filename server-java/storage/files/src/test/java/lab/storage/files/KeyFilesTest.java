package lab.storage.files;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import lab.storage.StorageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What lies in the folder: one file a key, and nothing left over. */
class KeyFilesTest {

    @TempDir
    private Path folder;

    private static byte[] bytes(String text) {
        return text.getBytes(US_ASCII);
    }

    private long filesBelow(String name) throws IOException {
        try (Stream<Path> files = Files.walk(folder.resolve(name))) {
            return files.filter(Files::isRegularFile).count();
        }
    }

    @Test
    void keyIsAFileWithItsValue() throws IOException {
        try (KeyFiles store = new KeyFiles(folder, FileLayout.FLAT)) {
            store.put(bytes("key1"), bytes("value1"));
            assertArrayEquals(bytes("value1"), Files.readAllBytes(folder.resolve("key1")));
            store.delete(bytes("key1"));
            assertTrue(Files.notExists(folder.resolve("key1")));
        }
    }

    @Test
    void countAndBytesFollowEveryWriteAndAreFoundAgain() {
        try (KeyFiles store = new KeyFiles(folder, FileLayout.FANNED)) {
            store.put(bytes("a"), bytes("12345"));
            store.put(bytes("a"), bytes("123"));
            store.put(bytes("b"), new byte[0]);
            store.put(bytes("b"), bytes("1"));
            store.put(bytes("c"), bytes("1"));
            store.delete(bytes("c"));
            store.delete(bytes("c"));
            assertEquals(2, store.count());
            assertEquals(4, store.bytes());
        }
        try (KeyFiles store = new KeyFiles(folder, FileLayout.FANNED)) {
            assertEquals(2, store.count());
            assertEquals(4, store.bytes());
        }
    }

    @Test
    void whatSnapshotsKeptGoesWithThem() throws IOException {
        try (KeyFiles store = new KeyFiles(folder, FileLayout.FLAT)) {
            store.put(bytes("a"), bytes("1"));
            FileCursor first = store.range(null, null);
            store.put(bytes("a"), bytes("2"));
            FileCursor second = store.range(null, null);
            store.put(bytes("a"), bytes("3"));
            store.put(bytes("a"), bytes("4"));
            assertEquals(2, filesBelow(".kept"));
            assertTrue(first.next() && second.next());
            assertArrayEquals(bytes("1"), first.value());
            first.close();
            assertEquals(1, filesBelow(".kept"));
            assertArrayEquals(bytes("2"), second.value());
            second.close();
            assertEquals(0, filesBelow(".kept"));
            assertEquals(0, filesBelow(".new"));
        }
    }

    @Test
    void unfinishedWritesOfAKilledProcessAreForgotten() throws IOException {
        new KeyFiles(folder, FileLayout.FLAT).close();
        Files.write(folder.resolve(".new").resolve("7"), bytes("half"));
        Files.write(folder.resolve(".kept").resolve("7"), bytes("old"));
        try (KeyFiles store = new KeyFiles(folder, FileLayout.FLAT)) {
            assertEquals(0, store.count());
            assertEquals(0, filesBelow(".new"));
            assertEquals(0, filesBelow(".kept"));
        }
    }

    @Test
    void readerSeesTheOldValueOrTheNewOneWhole() throws Exception {
        byte[] ones = bytes("1".repeat(100_000));
        byte[] twos = bytes("2".repeat(200_000));
        try (KeyFiles store = new KeyFiles(folder, FileLayout.FLAT)) {
            store.put(bytes("key"), ones);
            AtomicBoolean done = new AtomicBoolean();
            Thread writer = new Thread(() -> {
                for (int i = 0; i < 500; i++) {
                    store.put(bytes("key"), i % 2 == 0 ? twos : ones);
                }
                done.set(true);
            });
            writer.start();
            while (!done.get()) {
                byte[] value = store.get(bytes("key"));
                assertArrayEquals(value[0] == '1' ? ones : twos, value);
            }
            writer.join();
        }
    }

    @Test
    void secondStoreInOneFolderIsRefused() {
        try (KeyFiles first = new KeyFiles(folder, FileLayout.FLAT)) {
            StorageException refused = assertThrows(StorageException.class, () -> new KeyFiles(folder, FileLayout.FLAT));
            assertTrue(refused.getMessage().contains("in use") && refused.getMessage().contains(folder.toString()),
                    refused.getMessage());
            assertEquals(0, first.count());
        }
    }
}
