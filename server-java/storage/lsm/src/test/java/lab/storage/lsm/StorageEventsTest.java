package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A flight recording tells when the store worked in the background, how long and how much. */
class StorageEventsTest {

    @TempDir
    private Path folder;

    @Test
    void flushesAndCompactionsAreRecorded() throws IOException {
        Path file = folder.resolve("recording.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("lab.Flush");
            recording.enable("lab.Compaction");
            recording.start();
            try (LsmStorage storage = new LsmStorage(folder.resolve("data"),
                    LsmOptions.builder().flushThresholdBytes(1 << 20).compaction(LsmOptions.Compaction.OFF).build())) {
                for (int i = 0; i < 3; i++) {
                    storage.put(utf8("key" + i), utf8("value"));
                    storage.flush();
                }
                storage.compact();
            }
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        List<RecordedEvent> flushes = events.stream().filter(e -> e.getEventType().getName().equals("lab.Flush"))
                .toList();
        assertEquals(3, flushes.size());
        flushes.forEach(flush -> {
            assertTrue(flush.getLong("bytes") > 0);
            assertTrue(flush.getLong("memtableBytes") > 0);
            assertEquals(1, flush.getLong("entries"));
            assertTrue(flush.getDuration().toNanos() > 0);
        });
        RecordedEvent compaction = events.stream().filter(e -> e.getEventType().getName().equals("lab.Compaction"))
                .findFirst().orElseThrow();
        assertEquals(3, compaction.getInt("tables"));
        assertEquals(3, compaction.getLong("entries"));
        assertTrue(compaction.getLong("bytesRead") > compaction.getLong("bytes"));
    }

    @Test
    void logSyncsAndStallsAreRecorded() throws IOException {
        Path file = folder.resolve("recording.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("lab.LogSync");
            recording.enable("lab.Stall");
            recording.start();
            try (LsmStorage storage = new LsmStorage(folder.resolve("data"), LsmOptions.builder()
                    .flushThresholdBytes(64 * 1024).compaction(LsmOptions.Compaction.OFF).wal(LsmOptions.Wal.SYNC)
                    .maxKeyBytes(100).maxValueBytes(60_000).build())) {
                storage.put(utf8("key"), utf8("value"));
            }
            try (LsmStorage storage = new LsmStorage(folder.resolve("data"), LsmOptions.builder()
                    .flushThresholdBytes(64 * 1024).compaction(LsmOptions.Compaction.OFF).maxKeyBytes(100)
                    .maxValueBytes(60_000).build())) {
                for (int i = 0; i < 200; i++) {
                    storage.put(utf8("key" + i), MemorySegment.ofArray(new byte[50_000]));
                }
            }
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        RecordedEvent sync = events.stream().filter(e -> e.getEventType().getName().equals("lab.LogSync")).findFirst()
                .orElseThrow();
        assertTrue(sync.getLong("bytes") > 0);
        assertTrue(sync.getDuration().toNanos() > 0);
        RecordedEvent stall = events.stream().filter(e -> e.getEventType().getName().equals("lab.Stall")).findFirst()
                .orElseThrow();
        assertTrue(stall.getLong("bytes") > 0);
        assertTrue(stall.getDuration().toNanos() > 0);
    }
}
