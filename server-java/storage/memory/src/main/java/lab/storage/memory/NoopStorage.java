package lab.storage.memory;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageStats;
import lab.storage.ValueReader;

/**
 * The engine {@code noop}: forgets every write and has the same value for every key. What the same load measures
 * here is the floor: network, HTTP and generator without a store.
 */
public final class NoopStorage implements Storage {

    /** As long as the values of the published GET, a few digits. */
    public static final int DEFAULT_VALUE_BYTES = 5;

    private final MemorySegment value;
    private final long delayNanos;

    /** Does nothing at once. */
    public NoopStorage() {
        this(DEFAULT_VALUE_BYTES, 0);
    }

    /**
     * Does nothing after a wait, which blocks the thread as a slow disk would.
     *
     * @param valueBytes size of the value of every key: as large as those of a store, the floor of that store's reads
     * @param delayUs    wait in each get, put and delete
     */
    public NoopStorage(int valueBytes, int delayUs) {
        byte[] bytes = new byte[valueBytes];
        Arrays.fill(bytes, (byte) '0');
        if (valueBytes > 0) {
            bytes[0] = '1'; // "10000", one of the published values, where nothing else is asked for
        }
        value = MemorySegment.ofArray(bytes).asReadOnly();
        delayNanos = TimeUnit.MICROSECONDS.toNanos(delayUs);
    }

    private void delay() {
        if (delayNanos == 0) {
            return;
        }
        long end = System.nanoTime() + delayNanos;
        for (long left = delayNanos; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
            if (Thread.currentThread().isInterrupted()) {
                return;
            }
        }
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        delay();
        reader.accept(value);
        return true;
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        delay();
        // The value is forgotten on purpose.
    }

    @Override
    public void delete(MemorySegment key) {
        delay();
        // There is nothing to delete.
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return new Cursor() {
            @Override
            public boolean next() {
                return false;
            }

            @Override
            public MemorySegment key() {
                throw new IllegalStateException("The cursor is not on an entry.");
            }

            @Override
            public MemorySegment value() {
                throw new IllegalStateException("The cursor is not on an entry.");
            }

            @Override
            public void close() {
                // Holds nothing.
            }
        };
    }

    @Override
    public void flush() {
        // There is nothing to flush.
    }

    @Override
    public String engine() {
        return "noop";
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("value_bytes", value.byteSize(), "handler_delay_us", TimeUnit.NANOSECONDS.toMicros(delayNanos));
    }

    @Override
    public StorageStats stats() {
        return StorageStats.EMPTY;
    }

    @Override
    public void close() {
        // Holds nothing.
    }
}
