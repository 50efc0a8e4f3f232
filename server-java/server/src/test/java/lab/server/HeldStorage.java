package lab.server;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import lab.storage.memory.MemoryStorage;

/** A store in memory that holds every {@code get} of the key {@code held} until it is let go. */
final class HeldStorage implements Storage {

    static final String HELD = "held";

    private final MemoryStorage storage = new MemoryStorage();
    private final CountDownLatch gate = new CountDownLatch(1);
    private final Semaphore arrived = new Semaphore(0);

    /** Waits until so many further requests are held. */
    void awaitHeld(int requests) throws InterruptedException {
        arrived.acquire(requests);
    }

    void letGo() {
        gate.countDown();
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        if (Bytes.text(key).equals(HELD)) {
            arrived.release();
            try {
                gate.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        return storage.get(key, reader);
    }

    @Override
    public void put(MemorySegment key, MemorySegment value) {
        storage.put(key, value);
    }

    @Override
    public void delete(MemorySegment key) {
        storage.delete(key);
    }

    @Override
    public Cursor range(MemorySegment from, MemorySegment to) {
        return storage.range(from, to);
    }

    @Override
    public void flush() {
        storage.flush();
    }

    @Override
    public String engine() {
        return "held";
    }

    @Override
    public Map<String, Object> settings() {
        return storage.settings();
    }

    @Override
    public StorageStats stats() {
        return storage.stats();
    }

    @Override
    public void close() {
        letGo();
        storage.close();
    }
}
