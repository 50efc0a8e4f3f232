package lab.storage.lsm.compaction;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * A merge that is to be done.
 *
 * @param inputs         parts of runs, newest first; the tables of each in key order
 * @param outputLevel    level of what comes out
 * @param dropTombstones whether nothing older lies under the inputs that their deletes could hide
 * @param from           first key that is merged, or null
 * @param to             key after the last one, or null; what the inputs have outside stays in their runs, in new tables
 */
public record CompactionPlan(List<Run> inputs, int outputLevel, boolean dropTombstones, byte[] from, byte[] to) {

    /** A merge of all keys of the inputs. */
    public CompactionPlan(List<Run> inputs, int outputLevel, boolean dropTombstones) {
        this(inputs, outputLevel, dropTombstones, null, null);
    }

    /** All tables that are merged. */
    public List<Table> tables() {
        return Run.tables(inputs);
    }

    /** Whether only a range of keys is merged. */
    boolean isPart() {
        return from != null || to != null;
    }

    /** Whether the only table can go to its level as it is, since there is nothing to merge it with. */
    public boolean isMove() {
        return inputs.size() == 1 && inputs.getFirst().tables().size() == 1 && outputLevel > 0 && !dropTombstones
                && !isPart();
    }

    /** Bytes that are read. */
    long bytes() {
        long bytes = 0;
        for (Run input : inputs) {
            bytes += input.sizeBytes();
        }
        return bytes;
    }

    boolean isDamaged() {
        return inputs.stream().anyMatch(Run::isDamaged);
    }

    /** Tables of an input that have keys outside the range too. */
    Run outside(Run input) {
        return new Run(input.level(), input.tables().stream().filter(table ->
                from != null && Arrays.compareUnsigned(table.firstKey(), from) < 0
                        || to != null && Arrays.compareUnsigned(table.lastKey(), to) >= 0).toList());
    }

    /** Runs that lie under an input. */
    static List<Run> older(List<Run> runs, Run input) {
        for (int i = 0; i < runs.size(); i++) {
            if (!Collections.disjoint(runs.get(i).tables(), input.tables())) {
                return runs.subList(i + 1, runs.size());
            }
        }
        return List.of();
    }

    /**
     * What the runs are when the merge is done.
     *
     * @param current runs now, newest first; since the plan was made other merges may have changed other tables
     * @param merged  what came out, in key order; may be empty
     * @param rests   for each input what it had outside the range; empty if all was merged
     */
    public List<Run> applyTo(List<Run> current, List<Table> merged, List<List<Table>> rests) {
        Set<Table> gone = new HashSet<>(tables());
        List<Run> result = new ArrayList<>();
        int place = -1;
        for (Run run : current) {
            List<Table> left = new ArrayList<>(run.tables());
            boolean changed = left.removeIf(gone::contains);
            if (changed && place < 0) {
                place = result.size();
            }
            if (changed && isPart()) {
                addPart(left, run, merged, rests);
            }
            if (!left.isEmpty()) {
                result.add(changed ? new Run(run.level(), left) : run);
            }
        }
        if (!merged.isEmpty() && !isPart()) {
            put(result, place, merged);
        }
        return result;
    }

    /** What was merged comes to lie in the oldest of the runs; nothing under it has keys of the range. */
    private void addPart(List<Table> left, Run run, List<Table> merged, List<List<Table>> rests) {
        int input = 0;
        while (Collections.disjoint(run.tables(), inputs.get(input).tables())) {
            input++;
        }
        left.addAll(rests.get(input));
        if (input == inputs.size() - 1) {
            left.addAll(merged);
        }
        left.sort(Comparator.comparing(Table::firstKey, Arrays::compareUnsigned));
    }

    private void put(List<Run> runs, int place, List<Table> merged) {
        if (outputLevel == 0) {
            runs.add(place, new Run(0, merged));
            return;
        }
        int at = 0;
        while (at < runs.size() && runs.get(at).level() < outputLevel) {
            at++;
        }
        if (at == runs.size() || runs.get(at).level() != outputLevel) {
            runs.add(at, new Run(outputLevel, merged));
            return;
        }
        List<Table> together = new ArrayList<>(runs.get(at).tables());
        together.addAll(merged);
        together.sort(Comparator.comparing(Table::firstKey, Arrays::compareUnsigned));
        runs.set(at, new Run(outputLevel, together));
    }
}
