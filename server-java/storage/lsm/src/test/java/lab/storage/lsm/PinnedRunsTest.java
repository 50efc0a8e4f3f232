package lab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import lab.storage.lsm.table.UnmappedTable;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** Tables are kept exactly as long as somebody may read them, and a change touches only what it changes. */
class PinnedRunsTest {

    private long number;
    private final List<Table> released = new ArrayList<>();

    private Table table() {
        return new UnmappedTable(++number, released::add);
    }

    private static List<Run> runs(List<Table> newestFirst) {
        return newestFirst.stream().map(table -> new Run(0, List.of(table))).toList();
    }

    @Test
    void changeTouchesOnlyTheTablesThatItAdds() {
        List<Table> tables = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            tables.add(table());
        }
        PinnedRuns held = PinnedRuns.first(runs(tables));
        tables.forEach(Table::release);
        for (int i = 0; i < 10; i++) {
            PinnedRuns next = held.next(held.runs(), List.of());
            held.follow(next, List.of(), List.of());
            held = next;
        }
        tables.forEach(table -> assertEquals(1, ((UnmappedTable) table).holders(), "one for all holds together"));
    }

    /**
     * Each number is a step: 0 adds a table, 1 removes one, 2 holds the newest runs, and any other closes one of the
     * holds.
     */
    @Property(tries = 300)
    void tableGoesWithTheLastHoldThatHasIt(@ForAll @Size(max = 60) List<Byte> steps) {
        number = 0;
        released.clear();
        PinnedRuns newest = PinnedRuns.first(List.of());
        List<PinnedRuns> holds = new ArrayList<>();
        List<Table> all = new ArrayList<>();
        for (byte step : steps) {
            List<Table> now = new ArrayList<>(Run.tables(newest.runs()));
            int choice = Math.floorMod(step, 8);
            if (choice <= 1) {
                List<Table> added = new ArrayList<>();
                List<Table> removed = new ArrayList<>();
                if (choice == 0 || now.isEmpty()) {
                    added.add(table());
                    all.addAll(added);
                    now.addAll(0, added);
                } else {
                    removed.add(now.remove(Math.floorMod(step / 8, now.size())));
                }
                PinnedRuns next = newest.next(runs(now), added);
                newest.follow(next, added, removed);
                added.forEach(Table::release);
                newest.close();
                newest = next;
            } else if (choice == 2) {
                holds.add(newest.again());
            } else if (!holds.isEmpty()) {
                holds.remove(Math.floorMod(step / 8, holds.size())).close();
            }
            check(all, newest, holds);
        }
        newest.close();
        holds.forEach(PinnedRuns::close);
        assertEquals(all.size(), released.size());
    }

    private void check(List<Table> all, PinnedRuns newest, List<PinnedRuns> holds) {
        for (Table table : all) {
            boolean held = Run.tables(newest.runs()).contains(table)
                    || holds.stream().anyMatch(hold -> Run.tables(hold.runs()).contains(table));
            assertEquals(!held, released.contains(table), "table " + table.id());
        }
    }
}
