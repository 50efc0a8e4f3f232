package lab.storage.lsm.table;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import lab.storage.lsm.entry.EntryCursor;

/**
 * Tables that together are one sorted sequence: no two of them overlap. Of two runs the newer one has the newer versions.
 *
 * @param level  0 for what was flushed or merged by size, 1 and more for the levels of leveled compaction
 * @param tables at least one, in key order
 */
public record Run(int level, List<Table> tables) {

    /** Copies the list of tables. */
    public Run {
        tables = List.copyOf(tables);
    }

    /** Looks a key up; if it is there, also as a delete, tells the lookup where. */
    public boolean find(Lookup lookup) {
        Table table = tableFor(lookup);
        return table != null && table.find(lookup);
    }

    /** False if the key is certainly absent. */
    boolean mayContain(Lookup lookup) {
        Table table = tableFor(lookup);
        return table != null && table.mayContain(lookup);
    }

    /** The only table that can have the key, or null. */
    private Table tableFor(Lookup lookup) {
        int low = 0;
        if (tables.size() > 1) {
            low = firstTableTo(lookup.key, lookup.keyLength);
            if (low == tables.size()) {
                return null;
            }
        }
        return tables.get(low);
    }

    /** Index of the first table that does not end before a key. */
    private int firstTableTo(byte[] key, int keyLength) {
        int low = 0;
        int high = tables.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            byte[] last = tables.get(middle).lastKey();
            if (Arrays.compareUnsigned(last, 0, last.length, key, 0, keyLength) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Walks over a part; the caller holds the tables. */
    public EntryCursor cursor(byte[] from, byte[] to) {
        if (tables.size() == 1) {
            return tables.getFirst().cursor(from, to);
        }
        int first = from == null ? 0 : firstTableTo(from, from.length);
        return new RunCursor(tables.subList(first, tables.size()), false, from, to);
    }

    /** The same as {@link #cursor} for a merge, which must not give damaged bytes a checksum that is right. */
    public EntryCursor verifiedCursor(byte[] from, byte[] to) {
        int first = from == null ? 0 : firstTableTo(from, from.length);
        return new RunCursor(tables.subList(first, tables.size()), true, from, to);
    }

    /** Whether a part of it is known to be damaged. */
    public boolean isDamaged() {
        for (Table table : tables) {
            if (table.isDamaged()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the size of all tables. */
    public long sizeBytes() {
        long bytes = 0;
        for (Table table : tables) {
            bytes += table.sizeBytes();
        }
        return bytes;
    }

    /** All tables of some runs, newest run first. */
    public static List<Table> tables(List<Run> runs) {
        List<Table> tables = new ArrayList<>();
        runs.forEach(run -> tables.addAll(run.tables()));
        return tables;
    }

    /** Runs of level 0 among some, newest first; every read has to look into one of them after the other. */
    public static int level0(List<Run> runs) {
        int fresh = 0;
        while (fresh < runs.size() && runs.get(fresh).level() == 0) {
            fresh++;
        }
        return fresh;
    }
}
