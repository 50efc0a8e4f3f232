package lab.stress.store;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import lab.storage.lsm.LsmStorage;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;

/**
 * A process that checks what the one before it left, writes until it is killed, and notes in a mapped file which writes
 * were acknowledged. Arguments: folder, file of notes, number of the cycle, mode of the log.
 */
final class CrashingWriter {

    static final int WRITERS = 4;
    static final int WRONG = 3;
    private static final long THRESHOLD_BYTES = 256 * 1024;
    private static final int KEY_BYTES = 100;
    private static final int VALUE_BYTES = 10_000;

    private CrashingWriter() {
    }

    /** Every merging mode and packing takes its turn. */
    static LsmOptions options(int cycle, LsmOptions.Wal wal) {
        LsmOptions.Compaction[] modes = LsmOptions.Compaction.values();
        Compression[] packings = Compression.values();
        return LsmOptions.builder().flushThresholdBytes(THRESHOLD_BYTES).wal(wal)
                .compaction(modes[1 + cycle % (modes.length - 1)]).compression(packings[cycle / 2 % packings.length])
                .maxTableBytes(THRESHOLD_BYTES).maxKeyBytes(KEY_BYTES).maxValueBytes(VALUE_BYTES).build();
    }

    /** Notes of the writers, one number each; they survive the process. */
    static MemorySegment notes(Path file, Arena arena) throws java.io.IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, WRITERS * Long.BYTES, arena);
        }
    }

    public static void main(String[] args) throws Exception {
        MemorySegment notes = notes(Path.of(args[1]), Arena.global());
        LsmStorage storage = new LsmStorage(Path.of(args[0]), options(Integer.parseInt(args[2]),
                LsmOptions.Wal.valueOf(args[3])));
        for (int writer = 0; writer < WRITERS; writer++) {
            long acknowledged = notes.getAtIndex(ValueLayout.JAVA_LONG, writer);
            long shown = new Script(writer).shown(storage, acknowledged);
            if (shown < 0) {
                System.out.println("writer " + writer + ": the store does not show its " + acknowledged + " writes");
                System.exit(WRONG);
            }
            notes.setAtIndex(ValueLayout.JAVA_LONG, writer, shown);
        }
        System.out.println("writing");
        for (int writer = 0; writer < WRITERS; writer++) {
            int number = writer;
            Thread.ofPlatform().start(() -> write(storage, notes, number));
        }
    }

    private static void write(LsmStorage storage, MemorySegment notes, int writer) {
        Script script = new Script(writer);
        for (long write = notes.getAtIndex(ValueLayout.JAVA_LONG, writer) + 1; ; write++) {
            script.run(storage, write);
            notes.setAtIndex(ValueLayout.JAVA_LONG, writer, write);
        }
    }
}
