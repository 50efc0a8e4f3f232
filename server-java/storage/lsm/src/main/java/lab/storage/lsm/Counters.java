package lab.storage.lsm;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import lab.storage.lsm.table.Lookup;
import lab.storage.lsm.table.Table;

/** What the store has done since it was opened. */
final class Counters {

    private static final double NS_PER_MS = 1e6;

    final LongAdder syncedWrites = new LongAdder();
    final LongAdder flushes = new LongAdder();
    final LongAdder flushedBytes = new LongAdder();
    final LongAdder compactions = new LongAdder();
    final LongAdder compactionReadBytes = new LongAdder();
    final LongAdder compactionWrittenBytes = new LongAdder();
    final LongAdder readsOfNothing = new LongAdder();
    final LongAdder readsFromMemory = new LongAdder();
    final LongAdder cacheHits = new LongAdder();
    final LongAdder cacheMisses = new LongAdder();
    final LongAdder readsOfRuns = new LongAdder();
    final LongAdder runsSearched = new LongAdder();
    final LongAdder filtersNo = new LongAdder();
    final LongAdder filtersWrong = new LongAdder();
    final LongAdder waits = new LongAdder();
    final LongAdder waitedNs = new LongAdder();
    final LongAdder slowdowns = new LongAdder();
    final LongAdder slowedNs = new LongAdder();
    final LongAdder refusedFull = new LongAdder();
    final LongAdder refusedBusy = new LongAdder();

    // Under the write lock; those who ask without it can do with a figure of a moment ago.
    private long writes;
    private long writtenBytes;
    private long logBytes;

    /** Counts writes. Needs the write lock. */
    void written(int count, long bytes, long bytesInLog) {
        writes += count;
        writtenBytes += bytes;
        logBytes += bytesInLog;
    }

    /** Counts a flush. */
    void flushed(long bytes) {
        flushes.increment();
        flushedBytes.add(bytes);
    }

    /** Counts a merge. */
    void compacted(List<Table> from, List<Table> to) {
        compactions.increment();
        from.forEach(table -> compactionReadBytes.add(table.sizeBytes()));
        to.forEach(table -> compactionWrittenBytes.add(table.sizeBytes()));
    }

    /** Counts lookups of so many keys that went to the tables. */
    void readOfRuns(Lookup lookup, int keys, int hits) {
        readsOfRuns.add(keys);
        int searched = lookup.filtersAsked - lookup.filtersNo;
        // Without filters nobody counts the runs; one for each key that was found is the least.
        runsSearched.add(searched > 0 ? searched : hits);
        if (lookup.filtersNo > 0) {
            filtersNo.add(lookup.filtersNo);
        }
        if (lookup.filtersWrong > 0) {
            filtersWrong.add(lookup.filtersWrong);
        }
    }

    /** Counts, bytes and ratios; names carry units. A ratio of nothing is null. */
    Map<String, Object> report(View view) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("writes", writes);
        all.put("written_bytes", writtenBytes);
        all.put("log_bytes", logBytes);
        all.put("synced_writes", syncedWrites.sum());
        all.put("flushes", flushes.sum());
        all.put("flushed_bytes", flushedBytes.sum());
        all.put("compactions", compactions.sum());
        all.put("compaction_read_bytes", compactionReadBytes.sum());
        all.put("compaction_written_bytes", compactionWrittenBytes.sum());
        all.put("write_amplification", ratio(logBytes + flushedBytes.sum() + compactionWrittenBytes.sum(),
                writtenBytes));
        all.put("reads", readsFromMemory.sum() + cacheHits.sum() + readsOfRuns.sum() + readsOfNothing.sum());
        all.put("reads_from_memory", readsFromMemory.sum());
        all.put("read_amplification", ratio(runsSearched.sum(), readsOfRuns.sum()));
        all.put("bloom_negative", filtersNo.sum());
        all.put("bloom_false_positive", filtersWrong.sum());
        all.put("bloom_false_positive_rate", ratio(filtersWrong.sum(), filtersWrong.sum() + filtersNo.sum()));
        all.put("cache_hits", cacheHits.sum());
        all.put("cache_misses", cacheMisses.sum());
        all.put("cache_hit_rate", ratio(cacheHits.sum(), cacheHits.sum() + cacheMisses.sum()));
        all.put("stalls", waits.sum());
        all.put("stalled_ms", waitedNs.sum() / NS_PER_MS);
        all.put("slowdowns", slowdowns.sum());
        all.put("slowed_ms", slowedNs.sum() / NS_PER_MS);
        all.put("refused_full", refusedFull.sum());
        all.put("refused_busy", refusedBusy.sum());
        addSpace(all, view);
        return all;
    }

    private static void addSpace(Map<String, Object> all, View view) {
        long entries = 0;
        long dead = 0;
        int tables = 0;
        List<String> damaged = new ArrayList<>();
        for (Table table : view.tables()) {
            table.damaged().forEach(range -> damaged.add(range.file().getFileName() + ": " + range));
            entries += table.entries();
            dead += table.oldEntries() + table.tombstones();
            tables++;
        }
        all.put("runs", view.runs.size());
        all.put("tables", tables);
        all.put("damaged_ranges", damaged);
        all.put("table_entries", entries);
        all.put("dead_entries_estimate", Math.min(dead, entries));
        all.put("space_amplification_estimate", ratio(entries, entries - dead));
    }

    private static Double ratio(long part, long whole) {
        return whole <= 0 ? null : (double) part / whole;
    }
}
