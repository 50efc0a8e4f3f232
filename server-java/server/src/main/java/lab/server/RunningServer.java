package lab.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.LinkedHashMap;
import java.util.Map;
import lab.server.api.Answering;
import lab.server.api.KeyValueApi;
import lab.server.api.LocalEntities;
import lab.server.onenio.KeyValueServer;
import lab.storage.Storage;
import lab.storage.StorageException;

/** A store and the server in front of it, from the first request to a clean stop. */
final class RunningServer implements AutoCloseable {

    private static final int MAX_KEY_BYTES = 64 * 1024;
    private static final int FREE_PORT_ATTEMPTS = 20;

    private final Storage storage;
    private final Answering answering = new Answering();
    private final KeyValueApi api;
    private final KeyValueServer server;
    private final Instance instance;
    private boolean closed;

    /**
     * Opens the store, binds the port and answers requests.
     *
     * @throws PortTakenException if the port cannot be had
     * @throws StorageException   if the store cannot be opened
     */
    RunningServer(Options options) {
        storage = options.engine().open(options.data(), options.lsm());
        try {
            api = new KeyValueApi(new LocalEntities(storage), answering, this::status, MAX_KEY_BYTES);
            int[] port = {options.port()};
            server = bind(options, port);
            instance = new Instance(options, port[0], storage, this::requests);
        } catch (RuntimeException e) {
            storage.close();
            throw e;
        }
        server.start();
        try {
            SelfCheck.awaitAnswer(options.host(), instance.port(), instance.id());
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** One-nio cannot say which port it got for 0, so a free one is looked for and then asked for by number. */
    private KeyValueServer bind(Options options, int[] port) {
        for (int attempt = 1; ; attempt++) {
            if (options.port() == 0) {
                port[0] = freePort(options.host());
            }
            try {
                return new KeyValueServer(new KeyValueServer.Address(options.host(), port[0], options.selectors(),
                        options.backlog()), api, options.maxValueBytes());
            } catch (IOException e) {
                if (options.port() != 0 || attempt == FREE_PORT_ATTEMPTS) {
                    throw new PortTakenException(options.host(), port[0], e);
                }
            }
        }
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
        requests.put("answered", server.getRequestsProcessed());
        requests.put("failed", answering.failures());
        requests.put("connections", server.getConnections());
        return requests;
    }

    /** Stops to answer, then flushes and closes the store. May be called twice. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                server.stop();
            } finally {
                storage.close();
            }
        }
    }
}
