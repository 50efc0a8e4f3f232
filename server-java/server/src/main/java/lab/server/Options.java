package lab.server;

import java.nio.file.Path;
import lab.storage.lsm.LsmOptions;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;

/** What the command line says. Every setting is a flag; there is no file and no variable. */
final class Options {

    private static final int MAX_PORT = 65535;
    private static final int LARGEST_VALUE_BYTES = 1 << 30;

    @Option(names = "--engine", required = true, converter = EngineConverter.class, paramLabel = "ENGINE",
            description = "Storage engine: lsm, rocksdb, memory or noop.")
    private Engine engine;

    @Option(names = "--data", paramLabel = "DIR",
            description = "Folder of the store; made if it is missing. Needed by lsm and rocksdb.")
    private Path data;

    @Option(names = "--port", defaultValue = "8080", paramLabel = "N",
            description = "Port to listen on; 0 takes any free one. Default: ${DEFAULT-VALUE}.")
    private int port;

    @Option(names = "--host", defaultValue = "127.0.0.1", paramLabel = "ADDRESS",
            description = "Interface to listen on. Default: ${DEFAULT-VALUE}, this machine only.")
    private String host;

    @Option(names = "--selectors", defaultValue = "0", paramLabel = "N",
            description = "Selector threads; they also handle the requests. Default: 0, one for each core.")
    private int selectors;

    @Option(names = "--backlog", defaultValue = "1024", paramLabel = "N",
            description = "Connections that may wait to be accepted. Default: ${DEFAULT-VALUE}.")
    private int backlog;

    @Option(names = "--max-value-bytes", defaultValue = "16777216", paramLabel = "BYTES",
            description = "Larger values are answered with 413. Default: ${DEFAULT-VALUE}.")
    private int maxValueBytes;

    @Option(names = "--flush-threshold-bytes", defaultValue = "0", paramLabel = "BYTES",
            description = "lsm: size at which a memtable is written to disk; two are held at most. "
                    + "Default: 0, an eighth of the heap.")
    private long flushThresholdBytes;

    @Option(names = "--compaction", defaultValue = "size-tiered", converter = CompactionConverter.class,
            paramLabel = "MODE", description = "lsm: off or size-tiered. Default: ${DEFAULT-VALUE}.")
    private LsmOptions.Compaction compaction;

    /** Checks what the parser cannot. */
    void validate() {
        require(port >= 0 && port <= MAX_PORT, "--port is " + port + ", but must be 0 to " + MAX_PORT + ".");
        require(selectors >= 0, "--selectors is " + selectors + ", but must be at least 1, or 0 for one each core.");
        require(backlog > 0, "--backlog is " + backlog + ", but must be at least 1.");
        require(maxValueBytes >= 0 && maxValueBytes <= LARGEST_VALUE_BYTES, "--max-value-bytes is " + maxValueBytes
                + ", but must be 0 to " + LARGEST_VALUE_BYTES + ".");
        require(flushThresholdBytes >= 0, "--flush-threshold-bytes is " + flushThresholdBytes
                + ", but must be at least 1, or 0 for the default.");
        require(data != null || !engine.needsFolder(), "--engine " + engine + " needs a folder; add --data DIR.");
        lsm();
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    Engine engine() {
        return engine;
    }

    Path data() {
        return data;
    }

    int port() {
        return port;
    }

    String host() {
        return host;
    }

    int selectors() {
        return selectors == 0 ? Runtime.getRuntime().availableProcessors() : selectors;
    }

    int backlog() {
        return backlog;
    }

    int maxValueBytes() {
        return maxValueBytes;
    }

    LsmOptions lsm() {
        return LsmOptions.forHeap(flushThresholdBytes, compaction, Runtime.getRuntime().maxMemory());
    }

    private static <E extends Enum<E>> E byFlag(Class<E> type, String text) {
        for (E constant : type.getEnumConstants()) {
            if (constant.toString().equals(text)) {
                return constant;
            }
        }
        throw new picocli.CommandLine.TypeConversionException("'" + text + "' is not one of "
                + java.util.Arrays.toString(type.getEnumConstants()));
    }

    private static final class EngineConverter implements ITypeConverter<Engine> {
        @Override
        public Engine convert(String text) {
            return byFlag(Engine.class, text);
        }
    }

    private static final class CompactionConverter implements ITypeConverter<LsmOptions.Compaction> {
        @Override
        public LsmOptions.Compaction convert(String text) {
            return byFlag(LsmOptions.Compaction.class, text);
        }
    }
}
