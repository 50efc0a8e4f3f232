package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.conformance.Length;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a start finds after the process before it died at any moment. */
class RecoveryTest {

    /** Without a log, so that what the tables alone give back is seen. */
    private static final LsmOptions OPTIONS = LsmOptions.builder().flushThresholdBytes(32 * 1024)
            .compaction(LsmOptions.Compaction.SIZE_TIERED).wal(LsmOptions.Wal.OFF).build();
    private static final int COPIES = Length.of(5, 15);

    @TempDir
    private Path folder;

    @Test
    void copyTakenAtAnyMomentIsAReadableOlderState() throws Exception {
        Path live = folder.resolve("live");
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger flushed = new AtomicInteger();
        try (Storage storage = new LsmStorage(live, OPTIONS)) {
            Thread writer = Thread.ofPlatform().start(() -> {
                for (int i = 0; !stop.get(); i++) {
                    storage.put(utf8(String.format("%09d", i)), utf8("value" + i));
                    if (i % 2_000 == 0) {
                        storage.flush();
                        flushed.set(i);
                    }
                }
            });
            try {
                for (int copy = 0; copy < COPIES; copy++) {
                    int mustBeThere = flushed.get();
                    Path crashed = folder.resolve("copy" + copy);
                    CrashedCopy.take(live, crashed);
                    try (Storage recovered = new LsmStorage(crashed, OPTIONS)) {
                        assertTrue(countPrefix(recovered) >= mustBeThere);
                    }
                }
            } finally {
                stop.set(true);
                writer.join();
            }
        }
    }

    /** Counts entries and checks that they are the first ones that were written, none missing between them. */
    private static int countPrefix(Storage storage) {
        int count = 0;
        try (Cursor cursor = storage.range(null, null)) {
            while (cursor.next()) {
                assertEquals(String.format("%09d", count), Bytes.text(cursor.key()));
                assertEquals("value" + count, Bytes.text(cursor.value()));
                count++;
            }
        }
        return count;
    }

    @Test
    void tornTableThatNoManifestNamesIsRemoved() throws IOException {
        try (Storage storage = new LsmStorage(folder, OPTIONS)) {
            storage.put(utf8("a"), utf8("1"));
        }
        Path torn = StoreFolder.tableFile(folder, 77);
        Files.write(torn, new byte[] {1, 2, 3});
        Files.writeString(folder.resolve("MANIFEST.tmp"), "lsm-mani");
        try (Storage storage = new LsmStorage(folder, OPTIONS)) {
            assertFalse(Files.exists(torn));
            assertFalse(Files.exists(folder.resolve("MANIFEST.tmp")));
            assertNotNull(storage.get(utf8("a")));
        }
    }

    @Test
    void numbersOfTablesAreNotUsedAgain() throws IOException {
        for (int i = 0; i < 3; i++) {
            try (Storage storage = new LsmStorage(folder, OPTIONS)) {
                storage.put(utf8("key" + i), utf8("value"));
            }
        }
        try (var files = Files.list(folder)) {
            assertEquals(3, files.filter(file -> file.toString().endsWith(".table")).count());
        }
    }

    @Test
    void emptyStoreOpensAgain() {
        new LsmStorage(folder, OPTIONS).close();
        try (Storage storage = new LsmStorage(folder, OPTIONS)) {
            assertEquals(0, countPrefix(storage));
        }
    }
}
