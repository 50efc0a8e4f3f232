package lab.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three nodes as processes under clients, while one of them at a time is killed, frozen, or stopped and started again. No
 * acknowledged write is lost, nothing that was replaced or deleted comes back, and two nodes go on without the third.
 */
class ClusterFaultsTest {

    private static final int NODES = 3;
    private static final int CLIENTS = 6;
    private static final int KEYS = 6;
    private static final boolean LONG = "1".equals(System.getenv("LAB_LONG"));
    private static final int ROUNDS = LONG ? 50 : 4;
    /** Writes that must be acknowledged before, during and after each fault. */
    private static final int PROGRESS = 60;
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    /** What happens to a node. */
    private enum Fault { KILL, PAUSE, RESTART }

    @TempDir
    private Path folder;
    private final List<NodeProcess> nodes = new ArrayList<>();
    private final List<String> urls = new ArrayList<>();
    private HistoryClients clients;

    @BeforeEach
    void start() throws Exception {
        for (int port : freePorts()) {
            urls.add("http://127.0.0.1:" + port);
        }
        for (int node = 0; node < NODES; node++) {
            nodes.add(new NodeProcess(folder.resolve("node" + node + ".log"), List.of("--engine", "rocksdb", "--data",
                    folder.resolve("node" + node).toString(), "--topology", String.join(",", urls), "--self",
                    urls.get(node), "--read-repair", "--peer-timeout-ms", "300", "--peer-retry-ms", "50",
                    "--selectors", "1")));
            nodes.getLast().begin();
        }
        for (NodeProcess node : nodes) {
            node.awaitReady();
        }
        clients = new HistoryClients(urls);
    }

    @AfterEach
    void stop() throws Exception {
        clients.close();
        nodes.forEach(NodeProcess::close);
    }

    private static int[] freePorts() throws IOException {
        List<ServerSocket> probes = new ArrayList<>();
        for (int i = 0; i < NODES; i++) {
            probes.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
        }
        for (ServerSocket probe : probes) {
            probe.close();
        }
        return probes.stream().mapToInt(ServerSocket::getLocalPort).toArray();
    }

    @Test
    void noAcknowledgedWriteIsLostAndNothingComesBack() throws Exception {
        Random random = new Random(20_261_121);
        int operations = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Fault fault = Fault.values()[round % Fault.values().length];
            int victim = random.nextInt(NODES);
            List<String> keys = new ArrayList<>();
            for (int key = 0; key < KEYS; key++) {
                keys.add("round" + round + "-" + key);
            }
            clients.start(CLIENTS, keys, random.nextLong());
            awaitProgress();
            strike(fault, nodes.get(victim));
            awaitProgress();
            heal(fault, nodes.get(victim));
            awaitProgress();
            List<Operation> history = new ArrayList<>(clients.stop());
            history.addAll(finalReads(keys));
            assertEquals(List.of(), HistoryChecker.faults(history), () -> fault + " of node " + victim);
            operations += history.size();
        }
        System.out.println("cluster faults: rounds=" + ROUNDS + " operations=" + operations + " acknowledged writes="
                + clients.acknowledgedWrites() + " lost=0 resurrected=0" + (LONG ? "" : " (LAB_LONG=1 runs 50 rounds)"));
    }

    private static void strike(Fault fault, NodeProcess node) throws Exception {
        switch (fault) {
            case KILL -> node.kill();
            case PAUSE -> node.pause();
            case RESTART -> node.stop();
            default -> throw new AssertionError(fault);
        }
    }

    /** A node that has ended is started again at once: it must have its port back. */
    private static void heal(Fault fault, NodeProcess node) throws Exception {
        if (fault == Fault.PAUSE) {
            node.resume();
        } else {
            node.start();
        }
    }

    private void awaitProgress() throws InterruptedException {
        int goal = clients.acknowledgedWrites() + PROGRESS;
        long end = System.nanoTime() + PATIENCE_NANOS;
        while (clients.acknowledgedWrites() < goal) {
            assertTrue(System.nanoTime() < end, () -> "No progress: "
                    + nodes.stream().map(NodeProcess::errorText).toList());
            Thread.sleep(10);
        }
    }

    /** With all nodes there and no writer, every coordinator must read the same from all replicas. */
    private List<Operation> finalReads(List<String> keys) throws InterruptedException {
        List<Operation> reads = new ArrayList<>();
        for (String key : keys) {
            Set<String> values = new HashSet<>();
            for (String url : urls) {
                Operation read = clients.readAll(url, key);
                long end = System.nanoTime() + PATIENCE_NANOS;
                while (read.outcome() != Operation.Outcome.DONE) {
                    // A node that is just back may still be set aside by another one.
                    assertTrue(System.nanoTime() < end, "not all replicas answer: " + read);
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

    @Test
    void nodeIsBackOnItsPortRightAfterARestart() throws Exception {
        for (int round = 0; round < 3; round++) {
            NodeProcess node = nodes.get(round);
            Operation before = clients.readAll(urls.get(round), "any");
            assertEquals(Operation.Outcome.DONE, before.outcome());
            if (round % 2 == 0) {
                node.kill();
            } else {
                node.stop();
            }
            node.start();
            Operation after = clients.readAll(urls.get(round), "any");
            assertEquals(Operation.Outcome.DONE, after.outcome(), node::errorText);
        }
    }
}
