package lab.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three nodes as processes under clients, while one of them at a time is killed, frozen, stopped and started again, or cut
 * off. No acknowledged write is lost, nothing that was replaced or deleted comes back, and two nodes go on without the
 * third.
 */
class ClusterFaultsTest {

    private static final int NODES = 3;
    private static final int CLIENTS = 6;
    private static final int KEYS = 6;
    private static final int LONG_ROUNDS = 50;
    /** Writes that must be acknowledged before, during and after each fault. */
    private static final int PROGRESS = 60;
    private static final long PATIENCE_NANOS = 60_000_000_000L;
    /** Clocks are up to ten minutes early or late, and by another amount after each start. */
    private static final int LARGEST_OFFSET_MS = 600_000;

    /** What happens to a node. */
    private enum Fault { KILL, PAUSE, RESTART, CUT_OFF, CUT_TO, CUT_FROM }

    private static final List<Fault> OF_PROCESSES = List.of(Fault.KILL, Fault.PAUSE, Fault.RESTART);
    /** So that in four rounds each kind of fault comes once. */
    private static final List<Fault> ALL =
            List.of(Fault.CUT_OFF, Fault.KILL, Fault.CUT_TO, Fault.RESTART, Fault.CUT_FROM, Fault.PAUSE);

    @TempDir
    private Path folder;
    private final Random random = new Random(20_261_121);

    @Test
    void noAcknowledgedWriteIsLostAndNothingComesBack() throws Exception {
        try (FaultyCluster cluster = cluster("rocksdb", "--read-repair")) {
            cluster.start(List.of(List.of(), List.of(), List.of()));
            try (HistoryClients clients = new HistoryClients(cluster.urls(), true)) {
                run(cluster, clients, OF_PROCESSES, false);
            }
        }
    }

    @Test
    void nothingIsLostThoughClocksAreSteppedTheNetworkIsCutAndNothingIsRepaired() throws Exception {
        try (FaultyCluster cluster = cluster("lsm")) {
            cluster.start(List.of(steppedClock(), steppedClock(), steppedClock()));
            try (HistoryClients clients = new HistoryClients(cluster.urls(), false)) {
                run(cluster, clients, ALL, true);
            }
        }
    }

    private FaultyCluster cluster(String engine, String... more) throws Exception {
        List<String> flags = new ArrayList<>(List.of("--engine", engine, "--peer-timeout-ms", "300", "--peer-retry-ms",
                "50"));
        flags.addAll(List.of(more));
        return new FaultyCluster(NODES, folder, flags);
    }

    private List<String> steppedClock() {
        return List.of("--clock-offset-ms",
                Integer.toString(random.nextInt(2 * LARGEST_OFFSET_MS + 1) - LARGEST_OFFSET_MS));
    }

    private void run(FaultyCluster cluster, HistoryClients clients, List<Fault> faults, boolean stepped)
            throws Exception {
        int rounds = Length.of(Math.min(4, faults.size()), LONG_ROUNDS);
        int operations = 0;
        for (int round = 0; round < rounds; round++) {
            Fault fault = faults.get(round % faults.size());
            int victim = random.nextInt(NODES);
            List<String> keys = new ArrayList<>();
            for (int key = 0; key < KEYS; key++) {
                keys.add("round" + round + "-" + key);
            }
            clients.start(CLIENTS, keys, random.nextLong());
            awaitProgress(cluster, clients);
            strike(fault, cluster, victim);
            awaitProgress(cluster, clients);
            heal(fault, cluster, victim, stepped ? steppedClock() : List.of());
            awaitProgress(cluster, clients);
            List<Operation> history = new ArrayList<>(clients.stop());
            history.addAll(finalReads(cluster, clients, keys));
            assertEquals(List.of(), HistoryChecker.faults(history), () -> fault + " of node " + victim);
            operations += history.size();
        }
        System.out.println("cluster faults: " + faults + " rounds=" + rounds + " operations=" + operations
                + " acknowledged writes=" + clients.acknowledgedWrites() + " lost=0 resurrected=0"
                + (rounds == LONG_ROUNDS ? "" : " (LAB_LONG=1 runs " + LONG_ROUNDS + " rounds)"));
    }

    private static void strike(Fault fault, FaultyCluster cluster, int victim) throws Exception {
        switch (fault) {
            case KILL -> cluster.node(victim).kill();
            case PAUSE -> cluster.node(victim).pause();
            case RESTART -> cluster.node(victim).stop();
            case CUT_TO -> cluster.cutTo(victim);
            case CUT_FROM -> cluster.cutFrom(victim);
            case CUT_OFF -> {
                cluster.cutTo(victim);
                cluster.cutFrom(victim);
            }
            default -> throw new AssertionError(fault);
        }
    }

    /** A node that has ended is started again at once: it must have its port back. */
    private static void heal(Fault fault, FaultyCluster cluster, int victim, List<String> flags) throws Exception {
        switch (fault) {
            case KILL, RESTART -> cluster.node(victim).start(flags);
            case PAUSE -> cluster.node(victim).resume();
            default -> cluster.heal(victim);
        }
    }

    private static void awaitProgress(FaultyCluster cluster, HistoryClients clients) throws InterruptedException {
        int goal = clients.acknowledgedWrites() + PROGRESS;
        long end = System.nanoTime() + PATIENCE_NANOS;
        while (clients.acknowledgedWrites() < goal) {
            assertTrue(System.nanoTime() < end, () -> "No progress: " + cluster.errorText());
            Thread.sleep(10);
        }
    }

    /** With all nodes there and no writer, every coordinator must read the same from all replicas. */
    private static List<Operation> finalReads(FaultyCluster cluster, HistoryClients clients, List<String> keys)
            throws InterruptedException {
        List<Operation> reads = new ArrayList<>();
        for (String key : keys) {
            Set<String> values = new HashSet<>();
            for (String url : cluster.urls()) {
                Operation read = clients.readAll(url, key);
                long end = System.nanoTime() + PATIENCE_NANOS;
                while (read.outcome() != Operation.Outcome.DONE) {
                    // A node that was frozen or cut off may still be set aside by another one.
                    assertTrue(System.nanoTime() < end, "not all replicas respond: " + read);
                    Thread.sleep(20);
                    read = clients.readAll(url, key);
                }
                reads.add(read);
                values.add(read.value());
            }
            assertEquals(1, values.size(), () -> "The coordinators read different values of " + key + ": " + values);
        }
        return reads;
    }

    /** Whether it was stopped or killed: its port is free, and the other node asks it again with the first request. */
    @Test
    void nodeIsUsedAsSoonAsItIsReady() throws Exception {
        int restarts = Length.of(2, 100);
        try (FaultyCluster cluster = new FaultyCluster(2, folder, List.of("--engine", "lsm"))) {
            cluster.start(List.of(List.of(), List.of()));
            try (HistoryClients clients = new HistoryClients(cluster.urls(), false)) {
                String other = cluster.urls().get(1);
                for (int restart = 0; restart < restarts; restart++) {
                    NodeProcess node = cluster.node(0);
                    if (restart % 2 == 0) {
                        node.stop();
                    } else {
                        node.kill();
                    }
                    assertEquals(Operation.Outcome.DONE, clients.put(other, "key", "&ack=1&from=2").outcome());
                    node.start(List.of());
                    Operation write = clients.put(other, "key", "&ack=2&from=2");
                    assertEquals(Operation.Outcome.DONE, write.outcome(), "restart " + restart + cluster.errorText());
                    assertEquals(write.value(), clients.readAll(cluster.urls().get(0), "key").value());
                }
            }
        }
        System.out.println("restarts: " + restarts + " of " + restarts + " used at once");
    }
}
