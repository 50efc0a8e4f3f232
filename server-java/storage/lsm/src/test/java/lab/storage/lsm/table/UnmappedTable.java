package lab.storage.lsm.table;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Supplier;
import lab.storage.lsm.entry.EntryCursor;

/** A table without a file, for tests of who holds tables. */
public class UnmappedTable extends Table {

    /** Makes one whose release is reported. */
    @SuppressWarnings("this-escape") // It is released after it was made.
    public UnmappedTable(long id, Consumer<Table> released) {
        super(id, Path.of("none"), Arena.ofShared(), MemorySegment.NULL);
        cleanWith(ignored -> released.accept(this));
    }

    /** Number of references. */
    public int holders() {
        return references();
    }

    @Override
    long blockOffset(long block) {
        return 0;
    }

    @Override
    public long entries() {
        return 0;
    }

    @Override
    public long tombstones() {
        return 0;
    }

    @Override
    public long oldEntries() {
        return 0;
    }

    @Override
    public byte[] firstKey() {
        return new byte[0];
    }

    @Override
    public byte[] lastKey() {
        return new byte[0];
    }

    @Override
    boolean mayContain(Lookup lookup) {
        return false;
    }

    @Override
    public boolean find(Lookup lookup) {
        return false;
    }

    @Override
    public EntryCursor cursor(byte[] from, byte[] to) {
        throw new UnsupportedOperationException();
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
    BlockTableCursor blockwise() {
        throw new UnsupportedOperationException("it has no blocks");
    }

    @Override
    byte[] blockStart(long block) {
        return firstKey();
    }

    @Override
    void verifyIndex(BlockChecksums by, Supplier<DamagedRange> all) {
        // There is none.
    }
}
