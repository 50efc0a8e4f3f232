package lab.storage.lsm.table;

import java.lang.foreign.MemorySegment;
import lab.storage.lsm.entry.EntryCursor;

/** Walks over entries that other cursors show, one cursor after the other. */
abstract class ForwardingCursor implements EntryCursor {

    /** The cursor that is at the current entry. */
    abstract EntryCursor current();

    @Override
    public final byte[] key() {
        return current().key();
    }

    @Override
    public final int keyLength() {
        return current().keyLength();
    }

    @Override
    public final long prefix() {
        return current().prefix();
    }

    @Override
    public final MemorySegment valueSegment() {
        return current().valueSegment();
    }

    @Override
    public final long valueOffset() {
        return current().valueOffset();
    }

    @Override
    public final int valueLength() {
        return current().valueLength();
    }
}
