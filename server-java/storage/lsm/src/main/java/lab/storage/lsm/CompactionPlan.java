package lab.storage.lsm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A merge that is to be done.
 *
 * @param inputs         parts of runs, newest first; the tables of each in key order
 * @param outputLevel    level of what comes out
 * @param dropTombstones whether nothing older lies under the inputs that their deletes could hide
 */
record CompactionPlan(List<Run> inputs, int outputLevel, boolean dropTombstones) {

    /** All tables that are merged. */
    List<Table> tables() {
        List<Table> tables = new ArrayList<>();
        inputs.forEach(run -> tables.addAll(run.tables()));
        return tables;
    }

    /** Whether the only table can go to its level as it is, since there is nothing to merge it with. */
    boolean isMove() {
        return inputs.size() == 1 && inputs.getFirst().tables().size() == 1 && outputLevel > 0 && !dropTombstones;
    }

    /** Runs that lie under the inputs. */
    List<Run> older(View view) {
        Set<Table> merged = new HashSet<>(inputs.getLast().tables());
        for (int i = 0; i < view.runs.size(); i++) {
            if (view.runs.get(i).tables().stream().anyMatch(merged::contains)) {
                return view.runs.subList(i + 1, view.runs.size());
            }
        }
        return List.of();
    }

    /**
     * What the runs are when the merge is done.
     *
     * @param current runs now, newest first; since the plan was made only newer ones may have been added
     * @param merged  what came out, in key order; may be empty
     */
    List<Run> applyTo(List<Run> current, List<Table> merged) {
        Set<Table> gone = new HashSet<>(tables());
        List<Run> result = new ArrayList<>();
        int place = -1;
        for (Run run : current) {
            List<Table> left = run.tables().stream().filter(table -> !gone.contains(table)).toList();
            if (left.size() < run.tables().size() && place < 0) {
                place = result.size();
            }
            if (!left.isEmpty()) {
                result.add(left.size() == run.tables().size() ? run : new Run(run.level(), left));
            }
        }
        if (!merged.isEmpty()) {
            put(result, place, merged);
        }
        return result;
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
