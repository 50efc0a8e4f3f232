package lab.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import lab.storage.Storage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnginesTest {

    @TempDir
    private Path folder;

    private Map<String, Object> settings(String name) {
        try (Storage storage = Engines.open(name, folder.resolve(name))) {
            return storage.settings();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "lsm+leveled, compaction, leveled",
        "lsm+sync, wal, sync",
        "lsm+verify, verify_checksums, always",
        "rocksdb-tuned+universal, compaction, universal",
        "rocksdb-tuned+mmap, allow_mmap_reads, true",
        "rocksdb-tuned+cache=1048576, block_cache, 1048576",
        "rocksdb-tuned+paced, bytes_per_sync, 1048576",
        "rocksdb-tuned+sync, wal, sync",
        "rocksdb+sync, wal, sync",
    })
    void variationChangesOneSettingAndLeavesTheOthers(String name, String setting, String value) {
        Map<String, Object> plain = settings(name.substring(0, name.indexOf('+')));
        Map<String, Object> varied = settings(name);
        assertEquals(value, varied.get(setting).toString());
        Set<String> together = Set.of("bytes_per_sync", "wal_bytes_per_sync", "rate_limit_bytes");
        plain.forEach((other, before) -> {
            boolean changes = other.equals(setting) || together.contains(setting) && together.contains(other);
            assertEquals(changes, !before.equals(varied.get(other)), other);
        });
    }

    @Test
    void variationsAdd() {
        Map<String, Object> both = settings("rocksdb-tuned+universal+sync");
        assertEquals("universal", both.get("compaction"));
        assertEquals("sync", both.get("wal"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"leveldb+sync", "lsm+mmap", "rocksdb+leveled", "innodb", "rocksdb-tuned+"})
    void unknownNameIsRefusedBeforeAFolderIsMade(String name) {
        String refused = assertThrows(IllegalArgumentException.class, () -> Engines.open(name, folder.resolve("store")))
                .getMessage();
        assertTrue(refused.startsWith("There is no engine") || refused.startsWith("This engine has no variation"), refused);
        assertTrue(Files.notExists(folder.resolve("store")));
    }
}
