package lab.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import lab.server.api.AsPublished;
import lab.server.api.ClusterSecret;
import lab.server.api.Entities;
import lab.server.api.Front;
import lab.server.api.Json;
import lab.server.api.KeyValueApi;
import lab.server.api.LocalEntities;
import lab.server.api.PublishedEntities;
import lab.server.api.Responder;
import lab.server.cluster.Cluster;
import lab.server.cluster.Topology;
import lab.server.execution.Dispatcher;
import lab.server.execution.Execution;
import lab.storage.Storage;
import lab.storage.StorageException;

/** A store and the server in front of it, from the first request to a clean stop. */
final class RunningServer implements AutoCloseable {

    private static final int FREE_PORT_ATTEMPTS = 20;

    private final Node node;
    private final Storage storage;
    /** Null if the node is alone. */
    private final Cluster cluster;
    private final Responder responder = new Responder();
    private final KeyValueApi api;
    private final Execution execution;
    private final Dispatcher dispatcher;
    private final Front front;
    private final Instance instance;
    private boolean stopped;
    private boolean closed;

    /**
     * Opens the store, binds the port and serves requests.
     *
     * @throws PortTakenException if the port cannot be had
     * @throws StorageException   if the store cannot be opened
     */
    RunningServer(Options options, Node node) {
        this(options, node, open(options, node));
    }

    /**
     * Serves a store that is open already.
     *
     * @param storage closed with this server, or if it cannot start
     */
    RunningServer(Options options, Node node, Storage storage) {
        this.node = node;
        this.storage = storage;
        cluster = node.topology() == null ? null : new Cluster(node.topology(),
                options.cluster().settings(node.topology().size(), node.secret()), storage, clockMark(node), responder);
        Entities entities = cluster == null ? alone(options.handling().publishedVariant()) : cluster.entities();
        api = new KeyValueApi(entities, responder, this::status, () -> Json.write(storage.statistics()),
                options.store().maxKeyBytes());
        execution = options.execution().create();
        dispatcher = new Dispatcher(api, execution);
        try {
            int[] port = {node.port()};
            front = bind(options.network(), options.handling().publishedVariant(), port);
            instance = new Instance(options, port[0], node, storage, transport(options.network()), this::requests,
                    cluster);
        } catch (RuntimeException e) {
            execution.close();
            closeStore();
            throw e;
        }
        front.start();
        try {
            SelfCheck.awaitResponse(node.host(), instance.port(), instance.id());
            if (cluster != null) {
                cluster.announce();
            }
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Next to the folder of the store, which has only the store's own files; null if the store keeps none. */
    private static Path clockMark(Node node) {
        return node.data() != null && Files.isDirectory(node.data())
                ? node.data().resolveSibling(node.data().getFileName() + ".clock") : null;
    }

    private Entities alone(AsPublished variant) {
        return variant == AsPublished.NOTHING || variant.isOfResponses() ? new LocalEntities(storage)
                : new PublishedEntities(storage, variant);
    }

    private static Storage open(Options options, Node node) {
        StoreFlags store = options.store().forNode(node.data(), node.shares());
        return store.engine().open(store);
    }

    /** One-nio cannot say which port it got for 0, so a free one is looked for and then asked for by number. */
    private Front bind(NetworkFlags network, AsPublished variant, int[] port) {
        for (int attempt = 1; ; attempt++) {
            if (node.port() == 0) {
                port[0] = freePort(node.host());
            }
            try {
                return network.front().open(network, node.host(), port[0], dispatcher, variant, node.secret());
            } catch (IOException e) {
                if (node.port() != 0 || attempt == FREE_PORT_ATTEMPTS) {
                    throw new PortTakenException(node.host(), port[0], e);
                }
            }
        }
    }

    private Map<String, Object> transport(NetworkFlags network) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("front", network.front().toString());
        facts.putAll(front.facts());
        facts.putAll(execution.settings());
        return facts;
    }

    private static int freePort(String host) {
        try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getByName(host))) {
            return probe.getLocalPort();
        } catch (IOException e) {
            throw new PortTakenException(host, 0, e);
        }
    }

    /** What the nodes of its cluster know each other by, or null. */
    ClusterSecret secret() {
        return node.secret();
    }

    /** The cluster that it is part of, or null. */
    Topology topology() {
        return node.topology();
    }

    Instance instance() {
        return instance;
    }

    private String status() {
        return instance.status();
    }

    private Map<String, Object> requests() {
        Map<String, Object> requests = new LinkedHashMap<>();
        requests.put("answered", front.responses());
        requests.put("failed", responder.failures());
        requests.putAll(dispatcher.counters());
        requests.put("connections", front.connections());
        return requests;
    }

    /** Stops serving, then flushes and closes the store. May be called twice. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                stopServing();
            } finally {
                closeStore();
            }
        }
    }

    /** Ends connections and requests; the store stays open. */
    synchronized void stopServing() {
        if (!stopped) {
            stopped = true;
            front.close();
            execution.close();
        }
    }

    private void closeStore() {
        try {
            if (cluster != null) {
                cluster.close();
            }
        } finally {
            storage.close();
        }
    }
}
