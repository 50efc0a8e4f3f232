package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.conformance.Length;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import lab.storage.lsm.table.Lookup;
import lab.storage.lsm.table.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Damaged bytes are never taken for values: a read is right, or it names the file and the place. */
class CorruptionTest {

    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(1 << 20)
            .compaction(LsmOptions.Compaction.OFF).build();
    private static final int ENTRIES = 80;
    /** Each byte is tried in the long tests. */
    private static final int STEP = Length.of(11, 1);

    @TempDir
    private Path folder;

    private static String key(int i) {
        return String.format("key%04d", i);
    }

    private static String value(int i) {
        return "value of entry number " + i + " ".repeat(i);
    }

    private Path writeTable() {
        return writeTable(Compression.NONE);
    }

    private Path writeTable(Compression compression) {
        try (Storage storage = new LsmStorage(folder, OPTIONS.toBuilder().compression(compression).build())) {
            for (int i = 0; i < ENTRIES; i++) {
                storage.put(utf8(key(i)), utf8(value(i)));
            }
            storage.delete(utf8("gone"));
        }
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".table")).findFirst().orElseThrow();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @EnumSource(Compression.class)
    void everyFlippedByteIsFoundOrHarmless(Compression compression) throws IOException {
        Path file = writeTable(compression);
        byte[] good = Files.readAllBytes(file);
        int detected = 0;
        for (int at = 0; at < good.length; at += STEP) {
            byte[] bad = good.clone();
            bad[at] ^= (byte) 0x5a;
            // A file of its own for each: what is mapped must not be overwritten.
            Path damaged = folder.resolve("damaged" + at);
            Files.write(damaged, bad);
            try {
                readAll(damaged);
            } catch (CorruptionException e) {
                detected++;
                assertEquals(damaged, e.file());
                assertTrue(e.getMessage().contains(damaged.toString()), e.getMessage());
                assertTrue(e.getMessage().contains("offset " + e.offset()), e.getMessage());
                assertTrue(e.offset() <= at, "the damage at " + at + " is not before " + e.offset());
            }
            Files.delete(damaged);
        }
        assertEquals((good.length + STEP - 1) / STEP, detected, "every byte of the file is under a checksum or fixed");
    }

    private static Lookup lookup(String key) {
        Lookup lookup = new Lookup();
        lookup.begin(utf8(key).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE));
        return lookup;
    }

    private static void readAll(Path file) throws IOException {
        Table table = Table.open(1, file);
        try {
            for (int i = 0; i < ENTRIES; i++) {
                Lookup lookup = lookup(key(i));
                assertTrue(table.find(lookup), "entry " + i + " is missing and nothing was said");
                assertEquals(value(i), Bytes.text(lookup.segment.asSlice(lookup.valueOffset, lookup.valueLength)));
            }
            Lookup gone = lookup("gone");
            assertTrue(table.find(gone));
            assertEquals(EntryCursor.TOMBSTONE, gone.valueLength);
        } finally {
            table.release();
        }
    }

    @Test
    void everyShorterFileIsRefused() throws IOException {
        Path file = writeTable();
        byte[] good = Files.readAllBytes(file);
        for (int length = 0; length < good.length; length += 7) {
            Path cut = folder.resolve("cut" + length);
            Files.write(cut, java.util.Arrays.copyOf(good, length));
            assertThrows(CorruptionException.class, () -> Table.open(1, cut));
        }
    }

    @Test
    void tableThatIsCutShortUnderALiveStoreIsNamed() throws IOException {
        Path file = writeTable();
        try (LsmStorage storage = new LsmStorage(folder, OPTIONS)) {
            assertEquals(value(1), Bytes.text(java.lang.foreign.MemorySegment.ofArray(storage.get(utf8(key(1))))));
            byte[] whole = Files.readAllBytes(file);
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(0);
            }
            CorruptionException get = assertThrows(CorruptionException.class, () -> storage.get(utf8(key(1))));
            CorruptionException range = assertThrows(CorruptionException.class, () -> {
                try (Cursor cursor = storage.range(null, null)) {
                    cursor.next();
                }
            });
            assertEquals(file, get.file());
            assertEquals(file, range.file());
            Files.write(file, whole);
        }
    }

    @Test
    void storeNamesTheDamagedTableAndGivesTheFolderBack() throws IOException {
        Path file = writeTable();
        Files.write(file, new byte[] {1}, StandardOpenOption.APPEND);
        CorruptionException refused = assertThrows(CorruptionException.class, () -> new LsmStorage(folder, OPTIONS));
        assertEquals(file, refused.file());
        Files.delete(file);
        CorruptionException missing = assertThrows(CorruptionException.class, () -> new LsmStorage(folder, OPTIONS));
        assertTrue(missing.getMessage().contains("missing"), missing.getMessage());
    }

    @Test
    void tablesWithoutAManifestAreKeptAndTheStoreRefusesToOpen() throws IOException {
        Path table = writeTable();
        Path manifest = folder.resolve(Manifest.FILE_NAME);
        byte[] good = Files.readAllBytes(manifest);
        Files.delete(manifest);
        CorruptionException refused = assertThrows(CorruptionException.class, () -> new LsmStorage(folder, OPTIONS));
        assertEquals(manifest, refused.file());
        assertTrue(refused.getMessage().contains(table.getFileName().toString()), refused.getMessage());
        assertTrue(Files.exists(table), "what the manifest named was removed");
        Files.write(manifest, good);
        try (Storage storage = new LsmStorage(folder, OPTIONS)) {
            assertEquals(value(1), Bytes.text(java.lang.foreign.MemorySegment.ofArray(storage.get(utf8(key(1))))));
        }
    }

    @Test
    void everyFlippedByteOfTheManifestIsFound() throws IOException {
        writeTable();
        Path manifest = folder.resolve(Manifest.FILE_NAME);
        byte[] good = Files.readAllBytes(manifest);
        int mark = good.length - "durable\n".length();
        for (int at = 0; at < mark; at++) {
            byte[] bad = good.clone();
            bad[at] ^= 1;
            Files.write(manifest, bad);
            try {
                Manifest.read(folder);
                fail("the byte at " + at + " was changed and nobody noticed");
            } catch (CorruptionException e) {
                assertEquals(manifest, e.file());
            }
        }
    }
}
