package lab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import lab.storage.Bytes;
import lab.storage.MultiGet;
import lab.storage.ValueReader;
import lab.storage.lsm.entry.EntryCursor;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.table.Lookup;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/** Looks keys up: in the memtables of a view, in the cache, in its runs. */
final class Lookups {

    private final Tree tree;
    private final Counters counters;
    private final RowCache cache;
    private final ThreadLocal<Lookup> perThread = ThreadLocal.withInitial(Lookup::new);

    /**
     * @param cache null if there is none
     */
    Lookups(Tree tree, Counters counters, RowCache cache) {
        this.tree = tree;
        this.counters = counters;
        this.cache = cache;
    }

    private Lookup take() {
        Lookup lookup = perThread.get();
        return lookup.busy() ? new Lookup() : lookup;
    }

    /** Looks a key up as it is now. */
    <X extends Exception> boolean get(MemorySegment key, ValueReader<X> reader) throws X {
        Lookup lookup = take();
        lookup.begin(Bytes.array(key));
        try {
            while (true) {
                View view = tree.peek();
                int held = view.pins.enter();
                if (held == Pins.RETIRED) {
                    tree.awaitNextView();
                    continue;
                }
                try {
                    return find(view, lookup) && show(lookup, reader);
                } catch (InternalError e) {
                    throw Table.unreadable(view.tables(), e);
                } finally {
                    view.pins.exit(held);
                }
            }
        } finally {
            lookup.end();
        }
    }

    private static <X extends Exception> boolean show(Lookup lookup, ValueReader<X> reader) throws X {
        if (lookup.valueLength == EntryCursor.TOMBSTONE) {
            return false;
        }
        reader.accept(value(lookup));
        return true;
    }

    private static MemorySegment value(Lookup lookup) {
        return lookup.segment.asSlice(lookup.valueOffset, lookup.valueLength);
    }

    private boolean find(View view, Lookup lookup) {
        if (findInMemory(view, lookup, tree.writes().visible())) {
            return true;
        }
        if (!hasRuns(view)) {
            return false;
        }
        if (cache == null) {
            return findInRuns(view, lookup);
        }
        if (findInCache(lookup)) {
            return true;
        }
        boolean hasEntry = findInRuns(view, lookup);
        if (hasEntry && lookup.valueLength != EntryCursor.TOMBSTONE) {
            cache.put(lookup, () -> tree.peek() == view);
        }
        return hasEntry;
    }

    private boolean findInMemory(View view, Lookup lookup, long sequence) {
        boolean hasEntry = view.active.find(lookup, sequence);
        for (int i = 0; i < view.frozen.size() && !hasEntry; i++) {
            hasEntry = view.frozen.get(i).find(lookup, sequence);
        }
        if (hasEntry) {
            counters.readsFromMemory.increment();
        }
        return hasEntry;
    }

    private boolean hasRuns(View view) {
        if (view.runs.isEmpty()) {
            counters.readsOfNothing.increment();
            return false;
        }
        return true;
    }

    private boolean findInCache(Lookup lookup) {
        MemorySegment cached = cache.get(lookup);
        if (cached == null) {
            counters.cacheMisses.increment();
            return false;
        }
        counters.cacheHits.increment();
        lookup.found(cached, 0, (int) cached.byteSize());
        return true;
    }

    private boolean findInRuns(View view, Lookup lookup) {
        List<Run> runs = view.runs;
        boolean hasEntry = false;
        for (int i = 0; i < runs.size() && !hasEntry; i++) {
            hasEntry = runs.get(i).find(lookup);
        }
        counters.readOfRuns(lookup, 1, hasEntry ? 1 : 0);
        return hasEntry;
    }

    /**
     * Looks keys up as they were at a moment. One run after the other is asked for all keys that newer ones do not have,
     * in the order of the keys, so that keys next to each other share a block, its check and the way to it.
     *
     * @param view     held by the caller
     * @param sequence the last write that is seen
     */
    <X extends Exception> void get(View view, long sequence, List<MemorySegment> keys, MultiGet.Reader<X> reader)
            throws X {
        Wanted[] open = new Wanted[keys.size()];
        for (int i = 0; i < open.length; i++) {
            open[i] = Wanted.of(Bytes.array(keys.get(i)), i);
        }
        Lookup lookup = take();
        try {
            int left = keepMissing(open, open.length, lookup, reader, () -> findInMemory(view, lookup, sequence));
            if (cache != null) {
                // What the cache has is from the tables of this view as long as it is the current one.
                left = keepMissing(open, left, lookup, reader, () -> findInCache(lookup) && tree.peek() == view);
            }
            int asked = left;
            if (!view.runs.isEmpty()) {
                Arrays.sort(open, 0, left);
            }
            lookup.beginInOrder();
            for (int i = 0; i < view.runs.size() && left > 0; i++) {
                Run run = view.runs.get(i);
                left = keepMissing(open, left, lookup, reader, () -> run.find(lookup));
            }
            if (view.runs.isEmpty()) {
                counters.readsOfNothing.add(asked);
            } else {
                counters.readOfRuns(lookup, asked, asked - left);
            }
        } finally {
            lookup.end();
        }
    }

    /** A key that is looked for, its place in the caller's list, and what each place that is asked needs of it. */
    private record Wanted(byte[] key, int index, long hash, long prefix) implements Comparable<Wanted> {

        static Wanted of(byte[] key, int index) {
            return new Wanted(key, index, Keys.hash(key, key.length), Keys.prefix(key, 0, key.length));
        }

        @Override
        public int compareTo(Wanted other) {
            int order = Long.compareUnsigned(prefix, other.prefix);
            return order != 0 ? order : Arrays.compareUnsigned(key, other.key);
        }
    }

    /** Looks into one place. */
    private interface Place {
        boolean find();
    }

    /**
     * Looks into a place for keys and shows what is found.
     *
     * @return the number of keys that it does not have; they are the first ones afterwards, in their order
     */
    private static <X extends Exception> int keepMissing(Wanted[] open, int count, Lookup lookup,
            MultiGet.Reader<X> reader, Place place) throws X {
        int missing = 0;
        for (int i = 0; i < count; i++) {
            Wanted wanted = open[i];
            lookup.wants(wanted.key, wanted.hash, wanted.prefix);
            if (place.find()) {
                if (lookup.valueLength != EntryCursor.TOMBSTONE) {
                    reader.accept(wanted.index, value(lookup));
                }
            } else {
                open[missing++] = wanted;
            }
        }
        return missing;
    }
}
