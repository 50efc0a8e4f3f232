package lab.server;

import static lab.server.Flags.require;

import java.nio.file.Path;
import java.util.List;
import lab.server.api.ClusterSecret;
import lab.server.cluster.ClientKind;
import lab.server.cluster.ClusterSettings;
import lab.server.cluster.Hashing;
import lab.server.cluster.Topology;
import picocli.CommandLine.Option;

/** Which nodes there are, where they keep what, and how they ask each other. Without these flags the server is alone. */
final class ClusterFlags {

    private static final int THREADS_A_CORE = 4;
    private static final int LONGEST_MS = 3_600_000;

    @Option(names = "--nodes", defaultValue = "1", paramLabel = "N",
            description = "Nodes of a cluster in this one process, on --port and the ports after it, or on free ones "
                    + "with --port 0. Default: ${DEFAULT-VALUE}, no cluster.")
    private int nodes;

    @Option(names = "--topology", split = ",", paramLabel = "URL",
            description = "Nodes of a cluster of processes, http://HOST:PORT of each, separated by commas; the same on "
                    + "all of them.")
    private List<String> topology;

    @Option(names = "--self", paramLabel = "URL",
            description = "Which node of --topology this process is. It listens on that host and port.")
    private String self;

    @Option(names = "--cluster-secret-file", paramLabel = "FILE",
            description = "File with a secret, the same for all nodes, by which they know each other's requests: 16 to 256 "
                    + "characters, readable for the server alone. Default: with --nodes a random one; with --topology "
                    + "on loopback addresses one made of the topology; on other addresses the flag is required.")
    private Path secretFile;

    @Option(names = "--hashing", paramLabel = "KIND",
            description = "Where keys lie: rendezvous (murmur3), modulo, or objects-hash (as report 5 first had it: one "
                    + "node gets all keys). Default: rendezvous.")
    private Hashing hashing;

    @Option(names = "--replication-from", paramLabel = "N",
            description = "Replicas of a key, unless a request says from. Default: all nodes.")
    private Integer from;

    @Option(names = "--replication-ack", paramLabel = "N",
            description = "Replicas that must have responded, unless a request says ack. Default: more than half.")
    private Integer ack;

    @Option(names = "--read-repair",
            description = "A read writes the freshest version to the replicas that it finds behind.")
    private boolean readRepair;

    @Option(names = "--client", paramLabel = "KIND",
            description = "How nodes ask each other: pipelined (ours, asynchronous), or one-nio and jdk, where a "
                    + "thread waits for each response. Default: pipelined.")
    private ClientKind client;

    @Option(names = "--client-lock",
            description = "one-nio, jdk: hold one lock during each call, as report 5 first had it.")
    private boolean clientLock;

    @Option(names = "--unused-response",
            description = "one-nio: make a response before each call that nobody reads, as report 5 first did.")
    private boolean unusedResponse;

    @Option(names = "--peer-threads", paramLabel = "N",
            description = "one-nio, jdk: calls to other nodes at a time; 128 more may wait. Default: "
                    + THREADS_A_CORE + " for each core.")
    private Integer peerThreads;

    @Option(names = "--peer-timeout-ms", paramLabel = "MS",
            description = "Longest wait for the response of another node. Default: 1000.")
    private Integer peerTimeoutMs;

    @Option(names = "--peer-retry-ms", paramLabel = "MS",
            description = "A node that did not respond is set aside and probed this often. Default: 500.")
    private Integer peerRetryMs;

    @Option(names = "--clock-offset-ms", paramLabel = "MS",
            description = "Add this to the wall clock of this node, less than 0 to set it back, to see how a cluster bears "
                    + "clocks that differ. Default: 0.")
    private Long clockOffsetMs;

    void validate(NetworkFlags network) {
        require(nodes >= 1 && nodes <= Topology.MAX_NODES, "--nodes is " + nodes + ", but must be 1 to "
                + Topology.MAX_NODES + ".");
        require(nodes == 1 || topology == null, "--nodes and --topology are two ways to make a cluster; give one.");
        require((topology == null) == (self == null), "--topology and --self belong together; give both or none.");
        require(network.port() + nodes - 1 <= NetworkFlags.MAX_PORT, "--nodes is " + nodes + ", but from --port "
                + network.port() + " on there are not that many ports.");
        if (!isCluster()) {
            require(hashing == null && from == null && ack == null && !readRepair && client == null && !clientLock
                    && !unusedResponse && peerThreads == null && peerTimeoutMs == null && peerRetryMs == null
                    && clockOffsetMs == null && secretFile == null, "--hashing, --replication-*, --read-repair, --client*, "
                            + "--unused-response, --peer-*, --clock-offset-ms and --cluster-secret-file are for a cluster; "
                            + "add --nodes N, or --topology and --self.");
            return;
        }
        int size = topology == null ? nodes : ofProcesses().size();
        ClusterSettings settings = settings(size, null);
        require(settings.from() >= 1 && settings.from() <= size, "--replication-from is " + settings.from()
                + ", but must be 1 to " + size + ", the number of nodes.");
        require(settings.ack() >= 1 && settings.ack() <= settings.from(), "--replication-ack is " + settings.ack()
                + ", but must be 1 to " + settings.from() + ", the number of replicas.");
        require(!clientLock || settings.client().blocking(), "--client-lock is for --client one-nio and jdk, but the "
                + "client is " + settings.client() + ".");
        require(!unusedResponse || settings.client() == ClientKind.ONE_NIO, "--unused-response is for --client one-nio, "
                + "but the client is " + settings.client() + ".");
        require(settings.peerThreads() >= 1, "--peer-threads is " + settings.peerThreads()
                + ", but must be at least 1.");
        requireTime("--peer-timeout-ms", settings.peerTimeoutMs());
        requireTime("--peer-retry-ms", settings.peerRetryMs());
        if (topology != null) {
            new NodeAddress(ofProcesses().selfUrl()).validate(network);
            require(secretFile != null || ofProcesses().nodes().stream().allMatch(NodeAddress::isLoopback),
                    "--topology has addresses of other machines, so the nodes need a secret by which they know each "
                    + "other's requests; give all of them the same --cluster-secret-file.");
        }
        secret();
    }

    private static void requireTime(String flag, int value) {
        require(value >= 1 && value <= LONGEST_MS, flag + " is " + value + ", but must be 1 to " + LONGEST_MS + ".");
    }

    boolean isCluster() {
        return nodes > 1 || topology != null;
    }

    /** Nodes in this process. */
    int inProcess() {
        return nodes;
    }

    /** The cluster that {@code --topology} and {@code --self} describe, or null without them. */
    Topology ofProcesses() {
        return topology == null ? null : Topology.of(topology, self);
    }

    /** What the nodes know each other's requests by. */
    ClusterSecret secret() {
        if (secretFile != null) {
            return ClusterSecret.read(secretFile);
        }
        return topology == null ? ClusterSecret.random() : ClusterSecret.ofTopology(ofProcesses().nodes());
    }

    /**
     * Where a node keeps its data: in a folder of its own below {@code --data}. So the store of a server that is alone,
     * whose values have no versions, is never taken for that of a node.
     *
     * @param number number of the node in this process, from 1
     */
    Path folder(Path data, int number) {
        if (data == null || !isCluster()) {
            return data;
        }
        return data.resolve(topology == null ? "node-" + number : "node");
    }

    /**
     * All settings, with the defaults for a number of nodes.
     *
     * @param size   nodes of the cluster
     * @param secret what they know each other by
     */
    ClusterSettings settings(int size, ClusterSecret secret) {
        int replicas = from == null ? size : from;
        return new ClusterSettings(hashing == null ? Hashing.RENDEZVOUS : hashing, replicas,
                ack == null ? replicas / 2 + 1 : ack, readRepair, client == null ? ClientKind.PIPELINED : client,
                clientLock, unusedResponse,
                peerThreads == null ? Runtime.getRuntime().availableProcessors() * THREADS_A_CORE : peerThreads,
                peerTimeoutMs == null ? 1_000 : peerTimeoutMs, peerRetryMs == null ? 500 : peerRetryMs,
                clockOffsetMs == null ? 0 : clockOffsetMs, secret);
    }
}
