package lab.bench;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import lab.storage.Cursor;
import lab.storage.MultiGet;
import lab.storage.Storage;
import lab.storage.ValueReader;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/** Reads, and reads with writes, on a store that {@link Fill} has filled. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(1)
public class Reads {

    private static final int RANGE = 100;
    private static final int SEVERAL = 100;

    /** The store. */
    @State(Scope.Benchmark)
    public static class Store {
        /** Engine, see {@link Engines}. */
        @Param("lsm")
        public String engine;
        /** Folder that was filled. */
        @Param("")
        public String folder;
        /** Keys that it holds. */
        @Param("1000000")
        public int keys;
        /** Bytes of a value. */
        @Param("128")
        public int valueBytes;
        private Storage storage;
        private Values values;

        /** Opens the store and reads all of it once, so that its pages are in memory. */
        @Setup
        public void open() {
            storage = Engines.open(engine, Path.of(folder));
            values = new Values(valueBytes);
            try (Cursor cursor = storage.range(null, null)) {
                long sum = 0;
                while (cursor.next()) {
                    sum += cursor.value().byteSize();
                }
                if (sum < (long) keys * valueBytes) {
                    throw new IllegalStateException("The store in " + folder + " is not filled.");
                }
            }
        }

        /** Closes it. */
        @TearDown
        public void close() {
            storage.close();
        }
    }

    /** What each thread has of its own. */
    @State(Scope.Thread)
    public static class Own implements ValueReader<RuntimeException>, MultiGet.Reader<RuntimeException> {
        private SplittableRandom random;
        private int[] zipfian;
        private int at;
        private byte[] copy;
        private int length;
        private int hits;

        /** Draws the keys. */
        @Setup
        public void draw(Store store) {
            long seed = Thread.currentThread().threadId();
            random = new SplittableRandom(seed);
            zipfian = Data.zipfian(store.keys, 1 << 18, seed);
            copy = new byte[store.valueBytes];
        }

        /** Copies the value, as a server does that puts it into a response. */
        @Override
        public void accept(MemorySegment value) {
            length = (int) value.byteSize();
            MemorySegment.copy(value, ValueLayout.JAVA_BYTE, 0, copy, 0, length);
        }

        @Override
        public void accept(int index, MemorySegment value) {
            hits++;
            accept(value);
        }
    }

    /** Looks up a key that is there. */
    @Benchmark
    public int getPresent(Store store, Own own) {
        if (!store.storage.get(MemorySegment.ofArray(Data.key(own.random.nextInt(store.keys))), own)) {
            throw new IllegalStateException("a key is missing");
        }
        return own.length;
    }

    /** Looks up a hundred keys by one call; the figure is that of one key. For engines that are a {@link MultiGet}. */
    @Benchmark
    @OperationsPerInvocation(SEVERAL)
    public int multiGet(Store store, Own own) {
        List<MemorySegment> keys = new ArrayList<>(SEVERAL);
        for (int i = 0; i < SEVERAL; i++) {
            keys.add(MemorySegment.ofArray(Data.key(own.random.nextInt(store.keys))));
        }
        own.hits = 0;
        ((MultiGet) store.storage).get(keys, own);
        if (own.hits != SEVERAL) {
            throw new IllegalStateException("a key is missing");
        }
        return own.length;
    }

    /** Looks up a key that is not there. */
    @Benchmark
    public boolean getAbsent(Store store, Own own) {
        return store.storage.get(MemorySegment.ofArray(Data.absentKey(own.random.nextInt())), own);
    }

    /** Reads a hundred entries from a random key on. */
    @Benchmark
    public int range(Store store, Own own, Blackhole sink) {
        int read = 0;
        try (Cursor cursor = store.storage.range(MemorySegment.ofArray(Data.key(own.random.nextInt(store.keys))),
                null)) {
            while (read < RANGE && cursor.next()) {
                own.accept(cursor.value());
                sink.consume(cursor.key().get(ValueLayout.JAVA_BYTE, 0));
                read++;
            }
        }
        return read;
    }

    /** Four threads, half reads, half writes, few keys often. */
    @Benchmark
    @Threads(4)
    public int mixed(Store store, Own own) {
        int draw = own.at++;
        int number = own.zipfian[draw & own.zipfian.length - 1];
        byte[] key = Data.key(number);
        if ((draw & 1) == 0) {
            store.storage.put(MemorySegment.ofArray(key), store.values.of(number));
        } else {
            store.storage.get(MemorySegment.ofArray(key), own);
        }
        return own.length;
    }
}
