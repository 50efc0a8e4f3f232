package lab.bench;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/**
 * Measures what JNI costs a call into RocksDB: two direct buffers are passed and their addresses taken, as for a get or
 * a put, and behind it stands next to nothing, an append of one key to a batch in memory.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(1)
@State(Scope.Thread)
public class Jni {

    private static final int BATCH = 4096;

    static {
        RocksDB.loadLibrary();
    }

    private final ByteBuffer key = ByteBuffer.allocateDirect(Data.KEY_BYTES);
    private final ByteBuffer value = ByteBuffer.allocateDirect(1);
    private WriteBatch batch;
    private int calls;

    /** Makes the batch; its memory stays when it is cleared. */
    @Setup
    public void open() {
        batch = new WriteBatch();
    }

    /** Closes it. */
    @TearDown
    public void close() {
        batch.close();
    }

    /** Calls once. */
    @Benchmark
    public void call() throws RocksDBException {
        batch.put(key.clear(), value.clear());
        if (++calls == BATCH) {
            calls = 0;
            batch.clear();
        }
    }
}
