package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import lab.storage.StorageException;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** A store that is closed says so, instead of waiting for a view that never comes. */
class ClosedStoreTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(120);

    @TempDir
    private Path folder;

    @Test
    void everyMethodSaysThatTheStoreIsClosed() {
        LsmStorage storage = new LsmStorage(folder, LsmOptions.defaults());
        storage.put(utf8("key"), utf8("value"));
        storage.close();
        Stream.<Executable>of(() -> storage.get(utf8("key")), () -> storage.put(utf8("key"), utf8("value")),
                () -> storage.delete(utf8("key")), () -> storage.range(null, null), () -> storage.get(List.of(utf8("key"), utf8("other"))),
                storage::flush, storage::compact, storage::stats, storage::statistics).forEach(method -> {
                    StorageException refused = assertTimeoutPreemptively(TIMEOUT,
                            () -> assertThrows(StorageException.class, method));
                    assertTrue(refused.getMessage().contains(folder + " is closed"), refused.getMessage());
                });
        storage.close();
    }
}
