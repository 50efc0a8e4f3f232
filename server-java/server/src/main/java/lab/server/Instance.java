package lab.server;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;
import lab.server.api.Json;
import lab.server.cluster.Cluster;
import lab.storage.Storage;
import lab.storage.StorageStats;

/** One start of the server: who it is and how it runs. The ready line and {@code /v0/status} are made from it. */
final class Instance {

    private static final double MS_PER_S = 1000;

    private final long startedMs = System.currentTimeMillis();
    private final Map<String, Object> facts = new LinkedHashMap<>();
    private final Storage storage;
    private final Supplier<Map<String, Object>> requests;
    private final Cluster cluster;

    /**
     * @param cluster null if the node is alone
     */
    Instance(Options options, int port, Node node, Storage storage, Map<String, Object> transport,
            Supplier<Map<String, Object>> requests, Cluster cluster) {
        this.cluster = cluster;
        this.storage = storage;
        this.requests = requests;
        Build build = Build.read();
        facts.put("instance", UUID.randomUUID().toString());
        facts.put("port", port);
        facts.put("host", node.host());
        facts.put("pid", ProcessHandle.current().pid());
        facts.put("build", build.hash());
        facts.putAll(transport);
        facts.put("one_nio", build.oneNioVersion());
        facts.put("engine", storage.engine());
        facts.put("engine_settings", storage.settings());
        facts.put("as_published", options.handling().publishedVariant().toString());
        facts.put("max_value_bytes", options.network().maxValueBytes());
        facts.put("jvm", System.getProperty("java.vm.version") + " " + System.getProperty("java.vendor.version", "")
                .replaceFirst("-.*", ""));
        facts.put("gc", Collector.name());
        facts.put("heap_max_bytes", Runtime.getRuntime().maxMemory());
        facts.put("data", node.data() == null ? null : node.data().toString());
        if (cluster != null) {
            facts.put("cluster", cluster.facts());
        }
    }

    int port() {
        return (int) facts.get("port");
    }

    String id() {
        return (String) facts.get("instance");
    }

    /** What is printed when it is ready. */
    Map<String, Object> ready() {
        return withEvent("ready");
    }

    String status() {
        Map<String, Object> status = withEvent("status");
        status.put("uptime_s", (System.currentTimeMillis() - startedMs) / MS_PER_S);
        StorageStats stats = storage.stats();
        Map<String, Object> store = new LinkedHashMap<>();
        store.put("entries_estimate", stats.entriesEstimate());
        store.put("memtable_bytes", stats.memtableBytes());
        store.put("tables", stats.tables());
        store.put("disk_bytes", stats.diskBytes());
        status.put("store", store);
        status.put("requests", requests.get());
        if (ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads) {
            status.put("allocated_bytes", threads.getTotalThreadAllocatedBytes());
        }
        if (cluster != null) {
            status.put("cluster", cluster.status());
        }
        return Json.write(status);
    }

    private Map<String, Object> withEvent(String event) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("event", event);
        all.putAll(facts);
        return all;
    }
}
