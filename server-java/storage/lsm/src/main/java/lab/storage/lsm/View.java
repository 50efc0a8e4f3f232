package lab.storage.lsm;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import lab.storage.memory.VersionedMap;

/**
 * What the store consists of at one moment: the memtable that takes writes, the one that is being written out, and the
 * tables. Immutable; every change makes a new view.
 *
 * <p>A view holds a reference to each of its tables, and readers hold the view. The tables go when the last reader of
 * the last view that has them is done.
 */
final class View {

    final VersionedMap active;
    /** Being written out, or null. */
    final VersionedMap frozen;
    /** Newest first. */
    final List<Table> tables;
    private final AtomicInteger references = new AtomicInteger(1);

    View(VersionedMap active, VersionedMap frozen, List<Table> tables) {
        this.active = active;
        this.frozen = frozen;
        this.tables = List.copyOf(tables);
        tables.forEach(Table::retain);
    }

    /** Takes a reference, unless the view has already been given back by everybody. */
    boolean tryRetain() {
        int count = references.get();
        while (count > 0) {
            int seen = references.compareAndExchange(count, count + 1);
            if (seen == count) {
                return true;
            }
            count = seen;
        }
        return false;
    }

    /** Gives a reference back. */
    void release() {
        if (references.decrementAndGet() == 0) {
            tables.forEach(Table::release);
        }
    }

    /** The newest version of a key in memory, which may be a delete, or null. */
    VersionedMap.Version findInMemory(byte[] key) {
        VersionedMap.Version version = active.get(key);
        if (version == null && frozen != null) {
            version = frozen.get(key);
        }
        return version;
    }
}
