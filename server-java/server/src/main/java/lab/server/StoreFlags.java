package lab.server;

import static lab.server.Flags.require;

import java.nio.file.Path;
import lab.server.cluster.Cluster;
import lab.storage.lsm.options.LsmOptions;
import lab.storage.memory.NoopStorage;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Which store, where, and how it is set. */
final class StoreFlags implements Cloneable {

    @Option(names = "--engine", required = true, paramLabel = "ENGINE",
            description = "Storage engine: ${COMPLETION-CANDIDATES}.")
    private Engine engine;

    @Option(names = "--data", paramLabel = "DIR",
            description = "Folder of the store; made if it is missing. Needed by engines that keep files.")
    private Path data;

    @Option(names = "--preset", defaultValue = "published", paramLabel = "PRESET",
            description = "rocksdb, leveldb, files: published (set as in the reports) or tuned. Default: ${DEFAULT-VALUE}.")
    private Preset preset;

    @Mixin
    private final LsmFlags lsm = new LsmFlags();

    private int maxValueBytes;

    @Option(names = "--handler-delay-us", defaultValue = "0", paramLabel = "US",
            description = "noop: wait this long in each request, as a slow store would. A test aid: it shows what a way "
                    + "of handling requests does while handlers wait. Default: ${DEFAULT-VALUE}.")
    private int handlerDelayUs;

    @Option(names = "--noop-value-bytes", defaultValue = "" + NoopStorage.DEFAULT_VALUE_BYTES, paramLabel = "BYTES",
            description = "noop: size of the value that it returns for every GET; as large as those of a store, it is the "
                    + "floor of that store's reads. Default: ${DEFAULT-VALUE}.")
    private int noopValueBytes;

    /** Nodes of this process that share its memory. */
    private int shares = 1;

    /**
     * @param largestValueBytes what the server takes, so that the store has room for it
     */
    void validate(int largestValueBytes) {
        maxValueBytes = largestValueBytes;
        require(data != null || !engine.needsFolder(), "--engine " + engine + " needs a folder; add --data DIR.");
        require(handlerDelayUs >= 0, "--handler-delay-us is " + handlerDelayUs + ", but must be at least 0.");
        require(handlerDelayUs == 0 || engine == Engine.NOOP, "--handler-delay-us is for --engine noop, but the engine "
                + "is " + engine + ".");
        require(noopValueBytes >= 0 && noopValueBytes <= largestValueBytes, "--noop-value-bytes is " + noopValueBytes
                + ", but must be 0 to " + largestValueBytes + ", the largest value (--max-value-bytes).");
        require(noopValueBytes == NoopStorage.DEFAULT_VALUE_BYTES || engine == Engine.NOOP, "--noop-value-bytes is for "
                + "--engine noop, but the engine is " + engine + ".");
        lsm();
    }

    /**
     * The same settings for one of several nodes in this process.
     *
     * @param folder folder of the node, or null
     * @param nodes  nodes that share the heap
     */
    StoreFlags forNode(Path folder, int nodes) {
        try {
            StoreFlags copy = (StoreFlags) clone();
            copy.data = folder;
            copy.shares = nodes;
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /** Heap that a store may plan with. */
    long heapBytes() {
        return Runtime.getRuntime().maxMemory() / shares;
    }

    Engine engine() {
        return engine;
    }

    Path data() {
        return data;
    }

    boolean isTuned() {
        return preset == Preset.TUNED;
    }

    /** A node of a cluster keeps a stamp with each value, so the store takes that much more than the server. */
    LsmOptions lsm() {
        return lsm.options(maxValueBytes + Cluster.STAMP_BYTES, heapBytes(), shares);
    }

    int maxKeyBytes() {
        return lsm.maxKeyBytes();
    }

    int handlerDelayUs() {
        return handlerDelayUs;
    }

    int noopValueBytes() {
        return noopValueBytes;
    }
}
