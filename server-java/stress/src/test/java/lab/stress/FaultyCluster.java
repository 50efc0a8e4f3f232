package lab.stress;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import lab.storage.conformance.FreePort;

/**
 * Nodes as processes on this machine, each of which finds the others by links of its own that can be cut. All know the
 * same topology of names; a hosts file for each makes the names lead to its links. Clients go to the nodes directly.
 */
final class FaultyCluster implements AutoCloseable {

    private final List<NodeProcess> nodes = new ArrayList<>();
    private final List<Integer> ports = new ArrayList<>();
    private final Link[][] links;

    /**
     * @param flags of all nodes
     */
    FaultyCluster(int count, Path folder, List<String> flags) throws IOException {
        for (int node = 0; node < count; node++) {
            ports.add(FreePort.next());
        }
        links = new Link[count][count];
        for (int node = 0; node < count; node++) {
            Path hosts = folder.resolve("hosts" + node);
            Files.write(hosts, hosts(node));
            List<String> all = new ArrayList<>(flags);
            all.addAll(List.of("--data", folder.resolve("node" + node).toString(), "--topology",
                    String.join(",", IntStream.range(0, count).mapToObj(this::name).toList()), "--self", name(node),
                    "--host", "127.0.0.1", "--selectors", "1"));
            nodes.add(new NodeProcess(folder.resolve("node" + node + ".log"), List.of("-Djdk.net.hosts.file=" + hosts),
                    all));
        }
    }

    private String name(int node) {
        return "http://node" + node + ":" + ports.get(node);
    }

    private List<String> hosts(int from) throws IOException {
        List<String> lines = new ArrayList<>();
        for (int to = 0; to < ports.size(); to++) {
            if (to == from) {
                lines.add("127.0.0.1 node" + to);
            } else {
                InetAddress address = Link.address(from, to);
                links[from][to] = new Link(new InetSocketAddress(address, ports.get(to)),
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), ports.get(to)));
                lines.add(address.getHostAddress() + " node" + to);
            }
        }
        return lines;
    }

    NodeProcess node(int node) {
        return nodes.get(node);
    }

    int size() {
        return nodes.size();
    }

    /** Addresses of the nodes for clients. */
    List<String> urls() {
        return ports.stream().map(port -> "http://127.0.0.1:" + port).toList();
    }

    /** Starts all nodes, each with flags of its own, and waits until they are ready. */
    void start(List<List<String>> more) throws IOException {
        for (int node = 0; node < size(); node++) {
            nodes.get(node).begin(more.get(node));
        }
        for (NodeProcess node : nodes) {
            node.awaitReady();
        }
    }

    /** Loses everything that the other nodes send to one, and its responses. */
    void cutTo(int node) {
        others(node).forEach(other -> links[other][node].cut());
    }

    /** Loses everything that a node sends to the others, and their responses. */
    void cutFrom(int node) {
        others(node).forEach(other -> links[node][other].cut());
    }

    void heal(int node) {
        others(node).forEach(other -> {
            links[other][node].heal();
            links[node][other].heal();
        });
    }

    private IntStream others(int node) {
        return IntStream.range(0, size()).filter(other -> other != node);
    }

    String errorText() {
        return nodes.stream().map(NodeProcess::errorText).toList().toString();
    }

    @Override
    public void close() throws IOException {
        nodes.forEach(NodeProcess::close);
        for (Link[] ofOne : links) {
            for (Link link : ofOne) {
                if (link != null) {
                    link.close();
                }
            }
        }
    }
}
