package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.table.EntryCursor;
import lab.storage.lsm.table.Table;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store that the first release wrote, committed as a fixture, is read, written on, and merged into the new format. */
class FirstFormatTest {

    @TempDir
    private Path folder;

    @BeforeEach
    void copyFixture() throws IOException, URISyntaxException {
        Path fixture = Path.of(FirstFormatTest.class.getResource("/first_format/MANIFEST").toURI()).getParent();
        try (var files = Files.newDirectoryStream(fixture)) {
            for (Path file : files) {
                Files.copy(file, folder.resolve(file.getFileName()));
            }
        }
    }

    /** What the fixture holds: two tables, the newer one with deletes, changed values and new keys. */
    private static SortedMap<String, String> expected() {
        SortedMap<String, String> map = new TreeMap<>();
        for (int i = 0; i < 200; i++) {
            map.put(key(i), "first " + i);
        }
        for (int i = 0; i < 200; i += 3) {
            map.remove(key(i));
        }
        for (int i = 1; i < 300; i += 3) {
            map.put(key(i), "second " + i + " " + "x".repeat(i % 40));
        }
        map.put("empty", "");
        return map;
    }

    private static String key(int i) {
        return String.format("key%04d", i);
    }

    private static void check(LsmStorage storage) {
        SortedMap<String, String> shown = new TreeMap<>();
        try (Cursor cursor = storage.range(null, null)) {
            while (cursor.next()) {
                shown.put(Bytes.text(cursor.key()), Bytes.text(cursor.value()));
            }
        }
        assertEquals(expected(), shown);
        List<String> backwards = new ArrayList<>();
        try (Cursor cursor = storage.reverseRange(utf8("key0050"), utf8("key0250"))) {
            while (cursor.next()) {
                backwards.add(Bytes.text(cursor.key()) + "=" + Bytes.text(cursor.value()));
            }
        }
        assertEquals(expected().subMap("key0050", "key0250").entrySet().stream().map(Object::toString).toList()
                .reversed(), backwards);
        for (int i = 0; i < 300; i++) {
            byte[] value = storage.get(utf8(key(i)));
            assertEquals(expected().get(key(i)), value == null ? null : Bytes.text(MemorySegment.ofArray(value)));
        }
        assertNull(storage.get(utf8("key")));
        assertNull(storage.get(utf8("zzz")));
        try (Cursor cursor = storage.range(utf8("key0100"), utf8("key0110"))) {
            for (var entry : expected().subMap("key0100", "key0110").entrySet()) {
                assertTrue(cursor.next());
                assertEquals(entry.getKey(), Bytes.text(cursor.key()));
            }
        }
    }

    @Test
    void isReadAndMergedIntoTheNewFormat() throws IOException {
        LsmOptions options = LsmOptions.builder().flushThresholdBytes(1 << 20).compaction(LsmOptions.Compaction.OFF)
                .build();
        try (LsmStorage storage = new LsmStorage(folder, options)) {
            check(storage);
            storage.put(utf8("later"), utf8("1"));
            storage.flush();
            storage.delete(utf8("later"));
            storage.flush();
        }
        assertTrue(Files.readString(folder.resolve("MANIFEST")).startsWith("lsm-manifest 3"));
        try (LsmStorage storage = new LsmStorage(folder, options)) {
            check(storage);
            storage.compact();
            check(storage);
            assertEquals(1, storage.stats().tables());
            assertEquals(expected().size(), storage.stats().entriesEstimate());
        }
        try (LsmStorage storage = new LsmStorage(folder, options)) {
            check(storage);
        }
    }

    @Test
    void everyFlippedByteOfItIsFound() throws IOException {
        Path file = StoreFolder.tableFile(folder, 2);
        byte[] good = Files.readAllBytes(file);
        for (int at = 0; at < good.length; at++) {
            byte[] bad = good.clone();
            bad[at] ^= (byte) 0x5a;
            Path damaged = folder.resolve("damaged" + at);
            Files.write(damaged, bad);
            try {
                Table table = Table.open(1, damaged);
                try {
                    EntryCursor entries = table.cursor(null, null);
                    while (entries.next()) {
                        assertTrue(entries.keyLength() > 0);
                    }
                } finally {
                    table.release();
                }
                throw new AssertionError("the byte at " + at + " was changed and nobody noticed");
            } catch (CorruptionException e) {
                assertEquals(damaged, e.file());
            }
            Files.delete(damaged);
        }
    }
}
