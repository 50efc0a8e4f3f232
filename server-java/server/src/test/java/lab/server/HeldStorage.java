package lab.server;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.Bytes;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.StorageStats;
import lab.storage.ValueReader;
import lab.storage.memory.MemoryStorage;

/**
 * A store in memory that holds every {@code get} of the key {@code held} until it is let go, and notes who uses it. Tests
 * plant their own ranges in it.
 */
public class HeldStorage implements Storage {

    /** The key. */
    public static final String HELD = "held";

    private final MemoryStorage storage = new MemoryStorage();
    private final CountDownLatch gate = new CountDownLatch(1);
    private final Semaphore arrived = new Semaphore(0);
    private final AtomicInteger passes = new AtomicInteger();
    private final Set<String> users = ConcurrentHashMap.newKeySet();

    /** Waits until so many further requests are held. */
    public void awaitHeld(int requests) throws InterruptedException {
        arrived.acquire(requests);
    }

    /** Waits until a further request is held, or for some milliseconds. */
    public boolean isHeldWithin(int timeoutMs) throws InterruptedException {
        return arrived.tryAcquire(timeoutMs, TimeUnit.MILLISECONDS);
    }

    /** Holds so many further reads not. */
    public void passReads(int reads) {
        passes.set(reads);
    }

    /** Goes on with the requests that are held, and holds none any more. */
    public void letGo() {
        gate.countDown();
    }

    /** Names of the threads that have read or written. */
    public Set<String> users() {
        return users;
    }

    @Override
    public <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        users.add(Thread.currentThread().getName());
        if (Bytes.text(key).equals(HELD) && passes.getAndUpdate(left -> Math.max(0, left - 1)) == 0) {
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
        users.add(Thread.currentThread().getName());
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
