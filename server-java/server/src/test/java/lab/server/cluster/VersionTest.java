package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.StorageException;
import lab.storage.memory.MemoryStorage;
import lab.storage.memory.NoopStorage;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** Versions: stamped in order, and the last one wins at every replica, in whatever order they come. */
class VersionTest {

    private static final byte[] KEY = {'k'};
    private static final byte[] NO_BYTES = {};

    private static final long TWENTY_YEARS_MICROS = 630_720_000_000_000L;

    private static HybridClock clock(int node, LongSupplier micros) {
        return new HybridClock(node, micros, ClockMark.none());
    }

    private static byte[] value(byte[] record) {
        return StampedRecord.value(MemorySegment.ofArray(record)).toArray(ValueLayout.JAVA_BYTE);
    }

    @Property
    void recordGivesBackWhatItWasMadeOf(@ForAll byte[] value, @ForAll long version) {
        byte[] record = StampedRecord.ofValue(version, MemorySegment.ofArray(value));
        MemorySegment segment = MemorySegment.ofArray(record);
        assertEquals(version, StampedRecord.version(segment));
        assertFalse(StampedRecord.isTombstone(segment));
        assertArrayEquals(value, value(record));
        MemorySegment tombstone = MemorySegment.ofArray(StampedRecord.ofTombstone(version));
        assertEquals(version, StampedRecord.version(tombstone));
        assertTrue(StampedRecord.isTombstone(tombstone));
    }

    @Test
    void clockNeverGoesBackNorRepeatsThoughTheWallClockDoes() {
        AtomicLong wall = new AtomicLong(1_000_000);
        HybridClock clock = clock(3, wall::get);
        long last = 0;
        for (int i = 0; i < 1_000; i++) {
            wall.addAndGet(i % 10 == 9 ? -500 : i % 3);
            long version = clock.next();
            assertTrue(version > last);
            assertEquals(3, HybridClock.node(version));
            last = version;
        }
        assertTrue(HybridClock.micros(last) >= 1_000_000);
    }

    @Test
    void clocksOfTwoNodesNeverStampAlikeAndFollowEachOther() {
        HybridClock early = clock(0, () -> 1_000);
        HybridClock late = clock(1, () -> TWENTY_YEARS_MICROS);
        Set<Long> all = new HashSet<>();
        for (int i = 0; i < 1_000; i++) {
            long first = late.next();
            early.observe(first);
            long second = early.next();
            assertTrue(second > first, "what follows in time is stamped higher");
            assertTrue(all.add(first) && all.add(second));
        }
    }

    @Test
    void clockStampsDifferentlyOnManyThreads() throws Exception {
        HybridClock clock = clock(0, HybridClock::wallMicros);
        Set<Long> all = Collections.synchronizedSet(new HashSet<>());
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (int thread = 0; thread < 4; thread++) {
                threads.submit(() -> {
                    for (int i = 0; i < 20_000; i++) {
                        all.add(clock.next());
                    }
                });
            }
        }
        assertEquals(80_000, all.size());
    }

    /** Each number is a version; odd ones are tombstones. Two replicas get them in different orders, with repetitions. */
    @Property(tries = 300)
    void replicasAgreeOnTheLastVersionInWhateverOrderTheyCome(
            @ForAll @Size(min = 1, max = 30) List<@IntRange(min = 1, max = 20) Integer> versions, @ForAll long seed) {
        VersionedStore ordered = new VersionedStore(new MemoryStorage());
        VersionedStore reordered = new VersionedStore(new MemoryStorage());
        List<Integer> shuffled = new ArrayList<>(versions);
        Collections.shuffle(shuffled, new java.util.Random(seed));
        long newest = 0;
        for (int version : versions) {
            newest = Math.max(newest, version);
            assertEquals(newest, ordered.put(KEY, record(version)), "says which version is there now");
        }
        shuffled.forEach(version -> reordered.put(KEY, record(version)));
        assertArrayEquals(record((int) newest), ordered.get(KEY));
        assertArrayEquals(record((int) newest), reordered.get(KEY));
    }

    private static byte[] record(int version) {
        return version % 2 == 1 ? StampedRecord.ofTombstone(version)
                : StampedRecord.ofValue(version, MemorySegment.ofArray(new byte[] {(byte) version}));
    }

    @Test
    void lastVersionWinsWhenManyThreadsWriteOneKey() throws Exception {
        VersionedStore store = new VersionedStore(new MemoryStorage());
        HybridClock clock = clock(0, HybridClock::wallMicros);
        List<Future<Long>> newest = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (int thread = 0; thread < 4; thread++) {
                newest.add(threads.submit(() -> {
                    long version = 0;
                    for (int i = 0; i < 20_000; i++) {
                        version = clock.next();
                        store.put(KEY, StampedRecord.ofValue(version, MemorySegment.ofArray(NO_BYTES)));
                    }
                    return version;
                }));
            }
        }
        long last = 0;
        for (Future<Long> version : newest) {
            last = Math.max(last, version.get());
        }
        assertEquals(last, StampedRecord.version(MemorySegment.ofArray(store.get(KEY))));
    }

    @Test
    void rangeShowsValuesWithoutTombstonesAndPrefixes() {
        VersionedStore store = new VersionedStore(new MemoryStorage());
        store.put(new byte[] {'a'}, StampedRecord.ofValue(1, Bytes.utf8("one")));
        store.put(new byte[] {'b'}, StampedRecord.ofTombstone(2));
        store.put(new byte[] {'c'}, StampedRecord.ofValue(3, Bytes.utf8("")));
        store.put(new byte[] {'d'}, StampedRecord.ofTombstone(4));
        StringBuilder seen = new StringBuilder();
        try (Cursor cursor = new ValueCursor(store.records(new byte[] {'a'}, null))) {
            while (cursor.next()) {
                seen.append(Bytes.text(cursor.key())).append('=').append(Bytes.text(cursor.value())).append(' ');
            }
        }
        assertEquals("a=one c= ", seen.toString());
        assertNull(store.get(new byte[] {'x'}));
    }

    @Test
    void recordThatIsNoneIsRefusedAndTheFloorEngineServes() {
        VersionedStore store = new VersionedStore(new MemoryStorage());
        assertThrows(StorageException.class, () -> store.put(KEY, new byte[8]));
        VersionedStore floor = new VersionedStore(new NoopStorage());
        assertEquals(2, floor.put(KEY, record(2)));
        assertEquals("10000", new String(value(floor.get(KEY)), java.nio.charset.StandardCharsets.US_ASCII));
    }
}
