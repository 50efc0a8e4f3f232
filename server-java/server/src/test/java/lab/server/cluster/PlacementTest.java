package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Where keys lie: evenly, and no more of them move than must when the nodes change. */
class PlacementTest {

    private static final int KEYS = 1_000_000;
    /** Keys of report 5: 0 to 3 710 000, as decimal text. */
    private static final int REPORT_KEYS = 3_710_000;
    private static final double BALANCE = 0.02;

    private static List<String> nodes(int count) {
        return IntStream.range(0, count).mapToObj(node -> "http://127.0.0.1:" + (8080 + node)).toList();
    }

    private static byte[] key(int number) {
        return Integer.toString(number).getBytes(StandardCharsets.US_ASCII);
    }

    private static int[] counts(Placement placement, int nodes, int keys) {
        int[] counts = new int[nodes];
        for (int i = 0; i < keys; i++) {
            counts[placement.owner(key(i))]++;
        }
        return counts;
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5, 10})
    void rendezvousIsBalancedWithinTwoPercent(int nodes) {
        int[] counts = counts(Hashing.RENDEZVOUS.place(nodes(nodes)), nodes, KEYS);
        double fair = (double) KEYS / nodes;
        for (int count : counts) {
            assertEquals(fair, count, fair * BALANCE, Arrays.toString(counts));
        }
    }

    @Test
    void rendezvousBalancesEachReplicaAsWell() {
        Placement placement = Hashing.RENDEZVOUS.place(nodes(4));
        int[][] counts = new int[4][4];
        for (int i = 0; i < KEYS; i++) {
            int[] replicas = placement.replicas(key(i), 4);
            for (int rank = 0; rank < 4; rank++) {
                counts[rank][replicas[rank]]++;
            }
        }
        for (int[] ofRank : counts) {
            for (int count : ofRank) {
                assertEquals(KEYS / 4.0, count, KEYS / 4.0 * BALANCE, Arrays.toString(ofRank));
            }
        }
    }

    @Test
    void publishedHashSendsAllKeysOfTheReportToOneNode() {
        int[] counts = counts(Hashing.OBJECTS_HASH.place(nodes(3)), 3, REPORT_KEYS);
        assertArrayEquals(new int[] {0, 0, REPORT_KEYS}, Arrays.stream(counts).sorted().toArray());
        int[] cured = counts(Hashing.RENDEZVOUS.place(nodes(3)), 3, REPORT_KEYS);
        for (int count : cured) {
            assertEquals(REPORT_KEYS / 3.0, count, REPORT_KEYS / 3.0 * BALANCE, Arrays.toString(cured));
        }
    }

    @Property
    void publishedHashIsObjectsHash(@ForAll String text, @ForAll @IntRange(min = 2, max = 8) int count) {
        List<String> nodes = nodes(count);
        // A key is bytes; a lone surrogate has none.
        byte[] key = text.getBytes(StandardCharsets.UTF_8);
        String asRead = new String(key, StandardCharsets.UTF_8);
        int best = 0;
        for (int node = 1; node < count; node++) {
            if (Objects.hash(nodes.get(node), asRead) > Objects.hash(nodes.get(best), asRead)) {
                best = node;
            }
        }
        assertEquals(best, Hashing.OBJECTS_HASH.place(nodes).owner(key));
    }

    @Property
    void moduloIsTheHashCodeModuloTheNodes(@ForAll String text, @ForAll @IntRange(min = 1, max = 8) int count) {
        byte[] key = text.getBytes(StandardCharsets.UTF_8);
        int hash = new String(key, StandardCharsets.UTF_8).hashCode();
        assertEquals(Math.floorMod(hash, count), Hashing.MODULO.place(nodes(count)).owner(key));
    }

    @ParameterizedTest
    @EnumSource(Hashing.class)
    void replicasOfASmallerFromAreContainedInThoseOfALargerOne(Hashing hashing) {
        for (int nodes = 1; nodes <= 7; nodes++) {
            Placement placement = hashing.place(nodes(nodes));
            for (int i = 0; i < 2_000; i++) {
                byte[] key = key(i * 7919);
                int[] all = placement.replicas(key, nodes);
                assertEquals(nodes, Arrays.stream(all).distinct().count(), "all different");
                assertEquals(all[0], placement.owner(key));
                for (int from = 1; from <= nodes; from++) {
                    assertArrayEquals(Arrays.copyOf(all, from), placement.replicas(key, from));
                }
            }
        }
    }

    @Property(tries = 300)
    void everyNodeComesToTheSameResult(@ForAll @Size(min = 1, max = 40) byte[] key,
            @ForAll @IntRange(min = 2, max = 9) int count, @ForAll @IntRange(min = 0, max = 8) int shift) {
        List<String> listed = new ArrayList<>(nodes(count));
        java.util.Collections.rotate(listed, shift);
        Topology here = Topology.of(nodes(count), nodes(count).getFirst());
        Topology there = Topology.of(listed, listed.getLast());
        int[] mine = Hashing.RENDEZVOUS.place(here.nodes()).replicas(key, count);
        int[] theirs = Hashing.RENDEZVOUS.place(there.nodes()).replicas(key, count);
        assertArrayEquals(mine, theirs);
        assertEquals(here.nodes(), there.nodes());
    }

    @Test
    void nodeThatIsAddedTakesItsShareAndNothingElseMoves() {
        for (int before = 1; before <= 6; before++) {
            Placement small = Hashing.RENDEZVOUS.place(nodes(before));
            Placement large = Hashing.RENDEZVOUS.place(nodes(before + 1));
            int moved = 0;
            int keys = 200_000;
            for (int i = 0; i < keys; i++) {
                int from = small.owner(key(i));
                int to = large.owner(key(i));
                if (from != to) {
                    assertEquals(before, to, "a key moved between two nodes that stayed");
                    moved++;
                }
            }
            double share = (double) keys / (before + 1);
            assertEquals(share, moved, share * BALANCE * 2);
        }
    }

    @Test
    void nodeThatIsRemovedGivesItsKeysAwayAndNothingElseMoves() {
        List<String> all = nodes(5);
        for (int removed = 0; removed < 5; removed++) {
            List<String> left = new ArrayList<>(all);
            left.remove(removed);
            Placement large = Hashing.RENDEZVOUS.place(all);
            Placement small = Hashing.RENDEZVOUS.place(left);
            for (int i = 0; i < 50_000; i++) {
                String owner = all.get(large.owner(key(i)));
                String now = left.get(small.owner(key(i)));
                if (!owner.equals(all.get(removed))) {
                    assertEquals(owner, now);
                } else {
                    assertEquals(all.get(large.replicas(key(i), 2)[1]), now, "the next replica takes over");
                }
            }
        }
    }

    @Test
    void moduloMovesMostKeysWhenANodeIsAdded() {
        Placement small = Hashing.MODULO.place(nodes(3));
        Placement large = Hashing.MODULO.place(nodes(4));
        int moved = 0;
        for (int i = 0; i < KEYS; i++) {
            moved += small.owner(key(i)) == large.owner(key(i)) ? 0 : 1;
        }
        assertTrue(moved > KEYS * 0.6, "moved " + moved);
    }
}
