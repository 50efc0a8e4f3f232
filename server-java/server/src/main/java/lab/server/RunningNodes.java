package lab.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lab.server.api.ClusterSecret;
import lab.server.api.Json;
import lab.server.cluster.Topology;
import lab.storage.Storage;

/** The nodes of this process, one or several, from the first request to a clean stop. */
final class RunningNodes implements AutoCloseable {

    private static final int FREE_PORT_ATTEMPTS = 20;

    private final List<RunningServer> servers = new ArrayList<>();

    /**
     * Starts all nodes; if one cannot be started, none is left.
     *
     * @throws PortTakenException               if a port cannot be had
     * @throws lab.storage.StorageException     if a store cannot be opened
     */
    RunningNodes(Options options) {
        int count = options.cluster().inProcess();
        if (count == 1) {
            servers.add(new RunningServer(options, alone(options)));
            return;
        }
        boolean free = options.network().port() == 0;
        for (int attempt = 1; ; attempt++) {
            try {
                start(options, free ? freePorts(options.network().host(), count)
                        : consecutive(options.network().port(), count));
                return;
            } catch (PortTakenException e) {
                close();
                servers.clear();
                if (!free || attempt == FREE_PORT_ATTEMPTS) {
                    throw e;
                }
            } catch (RuntimeException e) {
                close();
                throw e;
            }
        }
    }

    /**
     * Starts one node in front of a store that is open already.
     *
     * @param storage closed with the node, or if it cannot start
     */
    RunningNodes(Options options, Storage storage) {
        servers.add(new RunningServer(options, alone(options), storage));
    }

    private static Node alone(Options options) {
        ClusterFlags cluster = options.cluster();
        NetworkFlags network = options.network();
        Path data = cluster.folder(options.store().data(), 1);
        Topology topology = cluster.ofProcesses();
        if (topology == null) {
            return new Node(network.host(), network.port(), data, null, null, 1);
        }
        String host = network.givenHost() == null ? Topology.host(topology.selfUrl()) : network.givenHost();
        return new Node(host, Topology.port(topology.selfUrl()), data, topology, cluster.secret(), 1);
    }

    private void start(Options options, int[] ports) {
        List<String> urls = new ArrayList<>();
        for (int port : ports) {
            urls.add("http://" + reachable(options.network().host()) + ':' + port);
        }
        ClusterSecret secret = options.cluster().secret();
        for (int i = 0; i < ports.length; i++) {
            servers.add(new RunningServer(options, new Node(options.network().host(), ports[i],
                    options.cluster().folder(options.store().data(), i + 1), Topology.of(urls, urls.get(i)), secret,
                    ports.length)));
        }
    }

    /** Address at which a node of this machine is reached that listens on some interface. */
    private static String reachable(String host) {
        try {
            return InetAddress.getByName(host).isAnyLocalAddress()
                    ? InetAddress.getLoopbackAddress().getHostAddress() : host;
        } catch (IOException e) {
            throw new PortTakenException(host, 0, e);
        }
    }

    private static int[] consecutive(int first, int count) {
        int[] ports = new int[count];
        for (int i = 0; i < count; i++) {
            ports[i] = first + i;
        }
        return ports;
    }

    /** The nodes must know each other's ports before they start, so free ones are looked for and asked for by number. */
    private static int[] freePorts(String host, int count) {
        List<ServerSocket> probes = new ArrayList<>();
        try {
            int[] ports = new int[count];
            for (int i = 0; i < count; i++) {
                probes.add(new ServerSocket(0, 1, InetAddress.getByName(host)));
                ports[i] = probes.get(i).getLocalPort();
            }
            return ports;
        } catch (IOException e) {
            throw new PortTakenException(host, 0, e);
        } finally {
            for (ServerSocket probe : probes) {
                try {
                    probe.close();
                } catch (IOException e) {
                    // Then the port is not free, which is found out when it is asked for.
                }
            }
        }
    }

    /** Port of the first node. */
    int port() {
        return servers.getFirst().instance().port();
    }

    List<RunningServer> servers() {
        return servers;
    }

    /** What is printed when all nodes are ready. That of the first one, and a list of all if there are several. */
    String readyLine() {
        Map<String, Object> line = servers.getFirst().instance().ready();
        if (servers.size() > 1) {
            List<Map<String, Object>> nodes = new ArrayList<>();
            for (RunningServer server : servers) {
                Map<String, Object> all = server.instance().ready();
                Map<String, Object> node = new LinkedHashMap<>();
                node.put("url", server.topology().selfUrl());
                for (String fact : List.of("port", "instance", "data")) {
                    node.put(fact, all.get(fact));
                }
                nodes.add(node);
            }
            line.put("nodes", nodes);
        }
        return Json.write(line);
    }

    /** Stops all nodes, then closes their stores. May be called twice. */
    @Override
    public void close() {
        RuntimeException failure = null;
        servers.forEach(RunningServer::stopServing);
        for (RunningServer server : servers) {
            try {
                server.close();
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
