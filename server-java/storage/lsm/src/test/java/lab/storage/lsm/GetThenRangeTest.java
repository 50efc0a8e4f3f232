package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import lab.storage.Cursor;
import lab.storage.SnapshotExpiredException;
import lab.storage.conformance.Length;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a read has shown, a range that follows shows too. */
class GetThenRangeTest {

    private static final int READS = Length.of(40_000, 200_000);
    private static final MemorySegment KEY = utf8("key");

    @TempDir
    private Path folder;

    @Test
    void rangeIsNotOlderThanTheReadBeforeIt() throws InterruptedException {
        AtomicBoolean stop = new AtomicBoolean();
        try (LsmStorage storage = new LsmStorage(folder, LsmOptions.builder().flushThresholdBytes(4 << 20)
                .compaction(LsmOptions.Compaction.OFF).wal(LsmOptions.Wal.OFF).build())) {
            storage.put(KEY, value(0));
            Thread writer = Thread.ofPlatform().start(() -> {
                for (long count = 1; !stop.get(); count++) {
                    storage.put(KEY, value(count));
                }
            });
            try {
                int seen = 0;
                for (int read = 0; read < READS; read++) {
                    long[] got = new long[1];
                    storage.get(KEY, value -> got[0] = value.get(ValueLayout.JAVA_LONG_UNALIGNED, 0));
                    try (Cursor cursor = storage.range(null, null)) {
                        assertTrue(cursor.next());
                        long shown = cursor.value().get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
                        assertTrue(shown >= got[0], "a read showed " + got[0] + ", the range after it " + shown);
                        seen++;
                    } catch (SnapshotExpiredException wasSlow) {
                        // This thread was stalled while the writer filled several memtables: nothing was shown.
                        assertTrue(read - seen < READS / 2, "most ranges were taken back");
                    }
                }
            } finally {
                stop.set(true);
                writer.join();
            }
        }
    }

    private static MemorySegment value(long count) {
        byte[] bytes = new byte[Long.BYTES];
        MemorySegment segment = MemorySegment.ofArray(bytes);
        segment.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, count);
        return segment;
    }
}
