package lab.storage.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import lab.storage.Storage;
import lab.storage.StorageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RocksDbFolderTest {

    @TempDir
    private Path folder;

    @Test
    void secondStoreInOneFolderIsRefused() {
        try (Storage first = new RocksDbStorage(folder)) {
            StorageException refused = assertThrows(StorageException.class, () -> new RocksDbStorage(folder));
            assertTrue(refused.getMessage().contains("in use"), refused.getMessage());
            assertTrue(refused.getMessage().contains(folder.toString()), refused.getMessage());
            assertEquals("rocksdb", first.engine());
        }
    }

    @Test
    void runsWithThePublishedSettings() {
        try (Storage storage = new RocksDbStorage(folder)) {
            assertEquals("buffered", storage.settings().get("wal"));
            assertEquals(0, storage.settings().get("bloom_bits_per_key"));
        }
    }

    @Test
    void eachSettingReachesRocksDb() throws IOException {
        RocksDbSettings all = RocksDbSettings.tuned(1 << 20).withCacheBytes(4 << 20).withUniversalCompaction()
                .withMmapReads().withPacing().withSync();
        try (Storage storage = new RocksDbStorage(folder, all)) {
            Map<String, Object> settings = storage.settings();
            assertEquals("sync", settings.get("wal"));
            assertEquals(10, settings.get("bloom_bits_per_key"));
            assertEquals(true, settings.get("verify_checksums"));
        }
        String options = Files.readString(optionsFile());
        for (String line : List.of("write_buffer_size=1048576", "compaction_style=kCompactionStyleUniversal",
                "compression=kNoCompression", "allow_mmap_reads=true", "bytes_per_sync=1048576",
                "wal_bytes_per_sync=1048576", "filter_policy=bloomfilter:10")) {
            assertTrue(options.contains(line), line + " is missing in:\n" + options);
        }
    }

    private Path optionsFile() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().startsWith("OPTIONS-")).max(Comparator.naturalOrder())
                    .orElseThrow();
        }
    }
}
