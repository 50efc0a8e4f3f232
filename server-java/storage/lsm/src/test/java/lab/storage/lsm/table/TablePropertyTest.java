package lab.storage.lsm.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** A table gives back what was written to it, whatever its keys have in common and however it is packed. */
class TablePropertyTest {

    /** Keys that share long starts, so that eight bytes do not tell blocks apart, and keys that share none. */
    @Provide
    Arbitrary<TreeMap<byte[], byte[]>> contents() {
        Arbitrary<String> start = Arbitraries.of("", "a", "user/profile/00000000", "user/profile/00000001/");
        Arbitrary<byte[]> rest = Arbitraries.bytes().array(byte[].class).ofMinSize(1).ofMaxSize(6);
        Arbitrary<byte[]> keys = Combinators.combine(start, rest).as((first, last) -> {
            byte[] key = Arrays.copyOf(first.getBytes(), first.length() + last.length);
            System.arraycopy(last, 0, key, first.length(), last.length);
            return key;
        });
        Arbitrary<byte[]> values = Arbitraries.integers().between(-1, 700)
                .map(length -> length < 0 ? null : new byte[length]);
        return Combinators.combine(keys, values.injectNull(0.05)).as(TablePropertyTest::entry).list().ofMinSize(1)
                .ofMaxSize(300).map(entries -> {
                    TreeMap<byte[], byte[]> map = new TreeMap<>(Arrays::compareUnsigned);
                    entries.forEach(entry -> map.put(entry[0], entry[1]));
                    return map;
                });
    }

    private static byte[][] entry(byte[] key, byte[] value) {
        if (value != null && value.length > 0) {
            value[0] = key[key.length - 1];
        }
        return new byte[][] {key, value};
    }

    @Property(tries = 200)
    void givesBackWhatWasWritten(@ForAll("contents") TreeMap<byte[], byte[]> model, @ForAll Compression compression,
            @ForAll boolean filter) throws IOException {
        Path file = Files.createTempFile("lsm", ".table");
        try {
            try (TableWriter writer = new TableWriter(Disk.REAL, file, filter ? 10 : 0, compression,
                    new LiveEstimate(List.of()), new LongAdder())) {
                MapCursor entries = new MapCursor(model);
                while (entries.next()) {
                    writer.add(entries);
                }
                assertEquals(writer.finish(), Files.size(file));
            }
            Table table = Table.open(1, file);
            try {
                check(table, model);
            } finally {
                table.release();
            }
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static void check(Table table, TreeMap<byte[], byte[]> model) {
        assertEquals(model.size(), table.entries());
        assertArrayEquals(model.firstKey(), table.firstKey());
        assertArrayEquals(model.lastKey(), table.lastKey());
        Lookup lookup = new Lookup();
        for (Map.Entry<byte[], byte[]> entry : model.entrySet()) {
            lookup.begin(entry.getKey());
            assertTrue(table.find(lookup));
            assertArrayEquals(entry.getValue(), value(lookup.segment, lookup.valueOffset, lookup.valueLength));
            byte[] longer = Arrays.copyOf(entry.getKey(), entry.getKey().length + 1);
            lookup.begin(longer);
            assertEquals(model.containsKey(longer), table.find(lookup));
            byte[] shorter = Arrays.copyOf(entry.getKey(), entry.getKey().length - 1);
            if (shorter.length > 0) {
                lookup.begin(shorter);
                assertEquals(model.containsKey(shorter), table.find(lookup));
            }
            walk(table, longer, null, model.tailMap(longer));
        }
        findInOrder(table, model);
        walk(table, null, null, model);
        walk(table, null, model.lastKey(), model.headMap(model.lastKey()));
    }

    /** Keys that are there, each followed by one that is just behind it. */
    private static void findInOrder(Table table, TreeMap<byte[], byte[]> model) {
        Lookup lookup = new Lookup();
        lookup.beginInOrder();
        TreeMap<byte[], byte[]> wanted = new TreeMap<>(model);
        model.keySet().forEach(key -> wanted.putIfAbsent(Arrays.copyOf(key, key.length + 1), null));
        for (byte[] key : wanted.keySet()) {
            lookup.wants(key);
            assertEquals(model.containsKey(key), table.find(lookup));
            if (model.containsKey(key)) {
                assertArrayEquals(model.get(key), value(lookup.segment, lookup.valueOffset, lookup.valueLength));
            }
        }
    }

    private static void walk(Table table, byte[] from, byte[] to, Map<byte[], byte[]> expected) {
        EntryCursor cursor = table.cursor(from, to);
        for (Map.Entry<byte[], byte[]> entry : expected.entrySet()) {
            assertTrue(cursor.next());
            assertArrayEquals(entry.getKey(), Arrays.copyOf(cursor.key(), cursor.keyLength()));
            assertArrayEquals(entry.getValue(),
                    value(cursor.valueSegment(), cursor.valueOffset(), cursor.valueLength()));
        }
        assertFalse(cursor.next());
        assertFalse(cursor.next(), "and stays at the end");
    }

    private static byte[] value(MemorySegment segment, long offset, int length) {
        return length == EntryCursor.TOMBSTONE ? null : segment.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }
}
