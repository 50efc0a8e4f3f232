package lab.jdk17;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import lab.server.api.Json;
import lab.storage.StorageException;
import picocli.CommandLine;

/** A store and the JDK's HTTP server in front of it. */
public final class Jdk17Server implements AutoCloseable {

    private static final String NODELAY = "sun.net.httpserver.nodelay";
    private static final double MS_PER_S = 1000;

    private final long startedMs = System.currentTimeMillis();
    private final Map<String, Object> facts = new LinkedHashMap<>();
    private final Store store;
    private final HttpServer server;
    private final ExecutorService executor;
    private final Requests requests;
    private boolean closed;

    /**
     * Opens the store, binds the port and serves requests.
     *
     * @throws IllegalArgumentException if the port cannot be had, or this JDK lacks what a flag asks for
     * @throws StorageException         if the store cannot be opened
     */
    Jdk17Server(Flags flags) {
        executor = flags.executor.create(flags.poolThreads);
        store = flags.openStore();
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getByName(flags.host), flags.port),
                    flags.backlog);
        } catch (IOException e) {
            store.close();
            throw new IllegalArgumentException("Port " + flags.port + " on " + flags.host + " cannot be used: "
                    + e.getMessage() + ". Stop the program that has it, or start with another --port (0 takes any free "
                    + "one).", e);
        }
        requests = new Requests(store, this::status, flags);
        describe(flags);
        server.createContext("/", requests);
        server.setExecutor(executor);
        server.start();
    }

    /** Starts it with flags, for a test in the same process. */
    public static Jdk17Server start(String... flags) {
        Flags parsed = CommandLine.populateCommand(new Flags(), flags);
        parsed.validate();
        return new Jdk17Server(parsed);
    }

    private void describe(Flags flags) {
        facts.put("instance", UUID.randomUUID().toString());
        facts.put("port", port());
        facts.put("host", flags.host);
        facts.put("pid", ProcessHandle.current().pid());
        facts.put("build", buildHash());
        facts.put("front", "jdk17");
        facts.put("transport", "jdk.httpserver");
        facts.put("nodelay", System.getProperty(NODELAY, "default"));
        facts.put("execution", flags.executor.toString());
        facts.put("answer_text", flags.responseText);
        facts.put("engine", flags.engineName());
        facts.put("engine_settings", store.settings());
        facts.put("max_value_bytes", flags.maxValueBytes);
        facts.put("jvm", System.getProperty("java.vm.version") + " " + System.getProperty("java.vendor.version", "")
                .replaceFirst("-.*", ""));
        facts.put("gc", ManagementFactory.getGarbageCollectorMXBeans().get(0).getName());
        facts.put("heap_max_bytes", Runtime.getRuntime().maxMemory());
        facts.put("data", flags.data == null ? null : flags.data.toString());
    }

    private static String buildHash() {
        Properties properties = new Properties();
        try (InputStream in = Jdk17Server.class.getResourceAsStream("build.properties")) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("build.hash");
    }

    /** Port that it listens on. */
    public int port() {
        return server.getAddress().getPort();
    }

    String readyLine() {
        return Json.write(withEvent("ready"));
    }

    private String status() {
        Map<String, Object> status = withEvent("status");
        status.put("uptime_s", (System.currentTimeMillis() - startedMs) / MS_PER_S);
        Map<String, Object> sizes = new LinkedHashMap<>();
        sizes.put("entries_estimate", store.count());
        sizes.put("memtable_bytes", 0);
        sizes.put("tables", 0);
        sizes.put("disk_bytes", store.diskBytes());
        status.put("store", sizes);
        Map<String, Object> counters = new LinkedHashMap<>();
        counters.put("answered", requests.responses());
        counters.put("failed", requests.failed());
        status.put("requests", counters);
        return Json.write(status);
    }

    private Map<String, Object> withEvent(String event) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("event", event);
        all.putAll(facts);
        return all;
    }

    /** Stops serving and closes the store. May be called twice. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            server.stop(0);
            if (executor != null) {
                executor.shutdown();
            }
            store.close();
        }
    }
}
