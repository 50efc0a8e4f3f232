package lab.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.LinkedHashMap;
import java.util.Map;
import lab.server.api.Answering;
import lab.server.api.Front;
import lab.server.api.KeyValueApi;
import lab.server.api.LocalEntities;
import lab.server.execution.Dispatcher;
import lab.server.execution.Execution;
import lab.storage.Storage;
import lab.storage.StorageException;

/** A store and the server in front of it, from the first request to a clean stop. */
final class RunningServer implements AutoCloseable {

    private static final int MAX_KEY_BYTES = 64 * 1024;
    private static final int FREE_PORT_ATTEMPTS = 20;

    private final Storage storage;
    private final Answering answering = new Answering();
    private final KeyValueApi api;
    private final Execution execution;
    private final Dispatcher dispatcher;
    private final Front front;
    private final Instance instance;
    private boolean closed;

    /**
     * Opens the store, binds the port and answers requests.
     *
     * @throws PortTakenException if the port cannot be had
     * @throws StorageException   if the store cannot be opened
     */
    RunningServer(Options options) {
        storage = options.store().engine().open(options.store());
        api = new KeyValueApi(new LocalEntities(storage), answering, this::status, MAX_KEY_BYTES);
        execution = options.execution().create();
        dispatcher = new Dispatcher(api, execution);
        try {
            int[] port = {options.network().port()};
            front = bind(options.network(), port);
            instance = new Instance(options, port[0], storage, transport(options.network()), this::requests);
        } catch (RuntimeException e) {
            execution.close();
            storage.close();
            throw e;
        }
        front.start();
        try {
            SelfCheck.awaitAnswer(options.network().host(), instance.port(), instance.id());
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** One-nio cannot say which port it got for 0, so a free one is looked for and then asked for by number. */
    private Front bind(NetworkFlags network, int[] port) {
        for (int attempt = 1; ; attempt++) {
            if (network.port() == 0) {
                port[0] = freePort(network.host());
            }
            try {
                return network.front().open(network, port[0], dispatcher);
            } catch (IOException e) {
                if (network.port() != 0 || attempt == FREE_PORT_ATTEMPTS) {
                    throw new PortTakenException(network.host(), port[0], e);
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

    Instance instance() {
        return instance;
    }

    private String status() {
        return instance.status();
    }

    private Map<String, Object> requests() {
        Map<String, Object> requests = new LinkedHashMap<>();
        requests.put("answered", front.answered());
        requests.put("failed", answering.failures());
        requests.putAll(dispatcher.counters());
        int connections = front.connections();
        requests.put("connections", connections == Front.UNKNOWN_CONNECTIONS ? null : connections);
        return requests;
    }

    /** Stops to answer, then flushes and closes the store. May be called twice. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                front.close();
                execution.close();
            } finally {
                storage.close();
            }
        }
    }
}
