package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.MultiGet;
import lab.storage.SnapshotExpiredException;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.lsm.table.Compression;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/** Whatever is done to the store, it shows what a sorted map shows to which the same was done. */
class LsmModelPropertyTest {

    private static final int KEYS = 40;
    /** Small enough that memtables and tables fill up on their own too. */
    private static final LsmOptions SMALL = LsmOptions.builder().flushThresholdBytes(3_000)
            .compaction(LsmOptions.Compaction.SIZE_TIERED).maxTableBytes(2_000).maxKeyBytes(100).maxValueBytes(1_000)
            .build();

    /** One thing that can be done to a store. */
    sealed interface Action {
        record Put(int key, String value) implements Action {
        }

        record Delete(int key) implements Action {
        }

        record Range(int from, int to) implements Action {
        }

        record Several(List<Integer> keys) implements Action {
        }

        record Step(Kind kind) implements Action {
        }

        enum Kind {
            FLUSH, COMPACT, REOPEN, CRASH, OPEN_CURSOR, READ_CURSOR
        }
    }

    @Provide
    Arbitrary<List<Action>> actions() {
        Arbitrary<Integer> keys = Arbitraries.integers().between(0, KEYS - 1);
        Arbitrary<String> values = Arbitraries.strings().alpha().ofMinLength(0).ofMaxLength(300);
        Arbitrary<Action> puts = Combinators.combine(keys, values).as(Action.Put::new);
        Arbitrary<Action> deletes = keys.map(Action.Delete::new);
        Arbitrary<Action> ranges = Combinators.combine(keys, keys).as(Action.Range::new);
        Arbitrary<Action> several = keys.list().ofMaxSize(2 * KEYS).map(Action.Several::new);
        Arbitrary<Action> steps = Arbitraries.of(Action.Kind.class).map(Action.Step::new);
        return Arbitraries.frequencyOf(Tuple.of(12, puts), Tuple.of(4, deletes), Tuple.of(2, ranges),
                Tuple.of(2, several), Tuple.of(5, steps)).list().ofMaxSize(120);
    }

    /** Every switch in several positions; the log is on, for a crash must lose nothing. */
    @Provide
    Arbitrary<LsmOptions> options() {
        return Combinators.combine(Arbitraries.of(LsmOptions.Compaction.class), Arbitraries.of(Compression.class),
                Arbitraries.of(0, 10), Arbitraries.of(0L, 20_000L),
                Arbitraries.frequencyOf(Tuple.of(4, Arbitraries.just(LsmOptions.Wal.BUFFERED)),
                        Tuple.of(1, Arbitraries.just(LsmOptions.Wal.SYNC))))
                .as((compaction, compression, bloom, cache, wal) -> LsmOptions.builder().flushThresholdBytes(SMALL
                .flushThresholdBytes()).wal(wal).compaction(compaction).compactionRateBytes(0).bloomBitsPerKey(bloom)
                .compression(compression).cacheBytes(cache).maxTableBytes(SMALL.maxTableBytes()).maxKeyBytes(SMALL
                .maxKeyBytes()).maxValueBytes(SMALL.maxValueBytes()).build());
    }

    @Property(tries = 150)
    void showsWhatASortedMapShows(@ForAll("actions") List<Action> actions, @ForAll("options") LsmOptions options)
            throws IOException {
        Path folder = Files.createTempDirectory("lsm-model");
        Subject subject = new Subject(folder, options);
        try {
            for (Action action : actions) {
                subject.apply(action);
            }
            subject.checkAll();
        } finally {
            subject.close();
            deleteFolder(folder);
        }
    }

    private static void deleteFolder(Path folder) throws IOException {
        try (var files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> {
                try {
                    Files.delete(file);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }
    }

    private static String key(int number) {
        return String.format("key%02d", number);
    }

    /** A store, the map that it must be like, and the cursors that are open with what they must show. */
    private static final class Subject {

        private final LsmOptions options;
        private Path folder;
        private int crashes;
        private final NavigableMap<String, String> model = new TreeMap<>();
        private final List<Cursor> cursors = new ArrayList<>();
        private final List<List<String>> cursorModels = new ArrayList<>();
        private LsmStorage storage;

        Subject(Path folder, LsmOptions options) throws IOException {
            this.options = options;
            this.folder = Files.createDirectory(folder.resolve("0"));
            this.storage = new LsmStorage(this.folder, options);
        }

        void apply(Action action) {
            switch (action) {
                case Action.Put put -> {
                    model.put(key(put.key()), put.value());
                    storage.put(utf8(key(put.key())), utf8(put.value()));
                }
                case Action.Delete delete -> {
                    model.remove(key(delete.key()));
                    storage.delete(utf8(key(delete.key())));
                }
                case Action.Range range -> {
                    String from = key(Math.min(range.from(), range.to()));
                    String to = key(Math.max(range.from(), range.to()));
                    assertEquals(entries(model.subMap(from, to)), entries(storage.range(utf8(from), utf8(to))));
                }
                case Action.Several several -> checkSeveral(storage, several.keys(), model);
                case Action.Step step -> step(step.kind());
            }
        }

        private static void checkSeveral(MultiGet store, List<Integer> keys, Map<String, String> model) {
            byte[][] values = store.get(keys.stream().map(key -> utf8(key(key))).toList());
            assertEquals(keys.stream().map(key -> model.get(key(key))).toList(),
                    Arrays.stream(values).map(Subject::text).toList());
        }

        private static String text(byte[] value) {
            return value == null ? null : Bytes.text(MemorySegment.ofArray(value));
        }

        private void step(Action.Kind kind) {
            switch (kind) {
                case FLUSH -> storage.flush();
                case COMPACT -> storage.compact();
                case REOPEN -> {
                    closeCursors();
                    storage.close();
                    storage = new LsmStorage(folder, options);
                    checkAll();
                }
                case CRASH -> {
                    crash();
                    checkAll();
                }
                case OPEN_CURSOR -> {
                    if (cursors.size() < 3) {
                        cursors.add(storage.range(null, null));
                        cursorModels.add(entries(model));
                    }
                }
                case READ_CURSOR -> {
                    if (!cursors.isEmpty()) {
                        readCursor();
                    }
                }
            }
        }

        /** Goes on with what a process leaves behind that is killed now. */
        private void crash() {
            closeCursors();
            Path left = folder.resolveSibling(Integer.toString(++crashes));
            try {
                CrashedCopy.take(folder, left);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            storage.close();
            folder = left;
            storage = new LsmStorage(folder, options);
        }

        private void readCursor() {
            List<String> expected = cursorModels.removeFirst();
            List<String> seen;
            try {
                seen = entries(cursors.removeFirst());
            } catch (SnapshotExpiredException e) {
                // With so small a threshold a waiting cursor may lose its memtable; it then says so and shows nothing.
                return;
            }
            assertEquals(expected, seen);
        }

        void checkAll() {
            assertEquals(entries(model), entries(storage.range(null, null)));
            for (int i = 0; i < KEYS; i++) {
                byte[] value = storage.get(utf8(key(i)));
                assertEquals(model.get(key(i)), text(value));
            }
            checkSeveral(storage, IntStream.range(0, KEYS).boxed().toList(), model);
        }

        private static List<String> entries(SortedMap<String, String> map) {
            List<String> entries = new ArrayList<>();
            map.forEach((key, value) -> entries.add(key + "=" + value));
            return entries;
        }

        private static List<String> entries(Cursor cursor) {
            List<String> entries = new ArrayList<>();
            try (cursor) {
                while (cursor.next()) {
                    entries.add(Bytes.text(cursor.key()) + "=" + Bytes.text(cursor.value()));
                }
            }
            return entries;
        }

        private void closeCursors() {
            cursors.forEach(Cursor::close);
            cursors.clear();
            cursorModels.clear();
        }

        void close() {
            closeCursors();
            storage.close();
        }
    }
}
