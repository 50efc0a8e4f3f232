package lab.storage.lsm.table;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import lab.storage.lsm.entry.EntryCursor;

/** A table of deletes whose cursor stops half-way until it is let go. */
public final class GatedTable extends UnmappedTable {

    private static final int DELETES = 10_000;
    /** Ends when the cursor has reached the middle. */
    public final CountDownLatch reached = new CountDownLatch(1);
    /** Lets the cursor go on. */
    public final CountDownLatch gate = new CountDownLatch(1);

    private final SortedMap<byte[], byte[]> deletes = new TreeMap<>(Arrays::compareUnsigned);

    /** Makes the table. */
    public GatedTable() {
        super(1, released -> { });
        for (int i = 0; i < DELETES; i++) {
            deletes.put(String.format("key%07d", i).getBytes(StandardCharsets.UTF_8), null);
        }
    }

    @Override
    public EntryCursor cursor(byte[] from, byte[] to) {
        return new MapCursor(deletes) {

            private int shown;

            @Override
            public boolean next() {
                if (++shown == DELETES / 2) {
                    reached.countDown();
                    try {
                        gate.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
                return super.next();
            }
        };
    }

    @Override
    public long entries() {
        return DELETES;
    }

    @Override
    public long tombstones() {
        return DELETES;
    }

    @Override
    public byte[] firstKey() {
        return deletes.firstKey();
    }

    @Override
    public byte[] lastKey() {
        return deletes.lastKey();
    }
}
