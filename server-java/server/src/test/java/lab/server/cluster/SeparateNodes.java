package lab.server.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lab.server.RawClient;
import lab.server.TestServer;
import lab.storage.Storage;
import lab.storage.conformance.FreePort;

/** Nodes of one cluster that are started and stopped one by one, each with flags of its own. */
final class SeparateNodes implements AutoCloseable {

    private final Path folder;
    private final List<String> flags;
    private final List<Integer> ports = new ArrayList<>();
    private final TestServer[] nodes;

    SeparateNodes(int count, Path folder, String... flags) throws IOException {
        this.folder = folder;
        this.flags = List.of(flags);
        this.nodes = new TestServer[count];
        for (int node = 0; node < count; node++) {
            ports.add(FreePort.next());
        }
    }

    /** Starts a node and returns when it is ready. */
    void start(int node, String... more) {
        nodes[node] = TestServer.start("lsm", folder.resolve("data" + node), all(node, more));
    }

    /** Starts a node in front of a store of the test. */
    void start(int node, Storage storage, String... more) {
        nodes[node] = TestServer.start(storage, all(node, more));
    }

    private String[] all(int node, String... more) {
        List<String> all = new ArrayList<>(flags);
        all.addAll(List.of("--topology", String.join(",", ports.stream().map(SeparateNodes::url).toList()), "--self",
                url(ports.get(node))));
        all.addAll(List.of(more));
        return all.toArray(new String[0]);
    }

    private static String url(int port) {
        return "http://127.0.0.1:" + port;
    }

    void stop(int node) {
        nodes[node].close();
        nodes[node] = null;
    }

    int put(int node, String key, String value, String parameters) throws IOException {
        return ask(node, "PUT", key, value, parameters).status();
    }

    int delete(int node, String key, String parameters) throws IOException {
        return ask(node, "DELETE", key, "", parameters).status();
    }

    /** A value, or the status of a response without one. */
    String get(int node, String key, String parameters) throws IOException {
        RawClient.Response response = ask(node, "GET", key, "", parameters);
        return response.status() == 200 ? response.text() : Integer.toString(response.status());
    }

    /** A counter of a node's status. */
    long counter(int node, String name) throws IOException {
        return nodes[node].counter(name);
    }

    String status(int node) throws IOException {
        try (RawClient client = new RawClient(ports.get(node))) {
            return client.ask("GET", "/v0/status").text();
        }
    }

    /** The header field by which a node believes that another one calls. */
    String proof(int node) {
        return nodes[node].proof();
    }

    int port(int node) {
        return ports.get(node);
    }

    private RawClient.Response ask(int node, String method, String key, String value, String parameters)
            throws IOException {
        try (RawClient client = new RawClient(ports.get(node))) {
            return client.ask(method, "/v0/entity?id=" + key + parameters, value.getBytes(StandardCharsets.UTF_8));
        }
    }

    @Override
    public void close() {
        for (TestServer node : nodes) {
            if (node != null) {
                node.close();
            }
        }
    }
}
