package lab.storage.lsm.table;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** A table of deletes whose cursor stops half-way until it is let go. */
public final class GatedTable extends Table {

    private static final int DELETES = 100_000;
    /** Ends when the cursor has reached the middle. */
    public final CountDownLatch reached = new CountDownLatch(1);
    /** Lets the cursor go on. */
    public final CountDownLatch gate = new CountDownLatch(1);

    /** Makes the table. */
    public GatedTable() {
        super(1, Path.of("none"), Arena.ofShared(), MemorySegment.NULL);
    }

    @Override
    public EntryCursor cursor(byte[] from, byte[] to) {
        return new Deletes();
    }

    private final class Deletes implements EntryCursor {

        private int shown;

        @Override
        public boolean next() {
            shown++;
            if (shown == DELETES / 2) {
                reached.countDown();
                try {
                    gate.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            return shown <= DELETES;
        }

        @Override
        public byte[] key() {
            return String.format("key%07d", shown).getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public int keyLength() {
            return key().length;
        }

        @Override
        public long prefix() {
            return Keys.prefix(key(), 0, keyLength());
        }

        @Override
        public MemorySegment valueSegment() {
            return null;
        }

        @Override
        public long valueOffset() {
            return 0;
        }

        @Override
        public int valueLength() {
            return EntryCursor.TOMBSTONE;
        }
    }

    @Override
    long blockOffset(long block) {
        return 0;
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
    public long oldEntries() {
        return 0;
    }

    @Override
    public byte[] firstKey() {
        return "key".getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] lastKey() {
        return "key9".getBytes(StandardCharsets.UTF_8);
    }

    @Override
    boolean mayContain(Lookup lookup) {
        return true;
    }

    @Override
    public boolean find(Lookup lookup) {
        return false;
    }

    @Override
    public EntryCursor verifiedCursor(byte[] from, byte[] to) {
        return cursor(from, to);
    }

    @Override
    public long blocks() {
        return 0;
    }

    @Override
    long blockFor(byte[] key, int keyLength) {
        return -1;
    }

    @Override
    BlockwiseCursor blockwise() {
        throw new UnsupportedOperationException("it is read forwards alone");
    }

    @Override
    byte[] blockStart(long block) {
        return firstKey();
    }

    @Override
    void verifyIndex(Checks by, DamagedRange all) {
        // There is none.
    }
}
