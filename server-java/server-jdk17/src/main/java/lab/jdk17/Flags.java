package lab.jdk17;

import java.nio.file.Path;
import java.util.Arrays;
import lab.storage.files.FileLayout;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** What the command line says. */
final class Flags {

    private static final int MAX_PORT = 65535;

    enum Engine { FILES, MEMORY, NOOP }

    @Option(names = "--engine", defaultValue = "files", converter = EngineConverter.class, paramLabel = "ENGINE",
            description = "Storage engine: files (one file a key), memory or noop. Default: ${DEFAULT-VALUE}.")
    Engine engine;

    @Option(names = "--data", paramLabel = "DIR", description = "Folder of the store. Needed by files.")
    Path data;

    @Option(names = "--preset", defaultValue = "published", paramLabel = "PRESET",
            description = "files: published (all files in one folder) or tuned (256 folders). "
                    + "Default: ${DEFAULT-VALUE}.")
    String preset;

    @Option(names = "--port", defaultValue = "8080", paramLabel = "N",
            description = "Port to listen on; 0 takes any free one. Default: ${DEFAULT-VALUE}.")
    int port;

    @Option(names = "--host", defaultValue = "127.0.0.1", paramLabel = "ADDRESS",
            description = "Interface to listen on. Default: ${DEFAULT-VALUE}, this machine only.")
    String host;

    @Option(names = "--backlog", defaultValue = "1024", paramLabel = "N",
            description = "Connections that may wait to be accepted. Default: ${DEFAULT-VALUE}.")
    int backlog;

    @Option(names = "--executor", defaultValue = "dispatcher", converter = ExecutorConverter.class,
            paramLabel = "KIND", description = "Which threads handle requests: dispatcher (the one that waits for "
                    + "connections), cached-pool, fixed, virtual (from JDK 21 on). Default: ${DEFAULT-VALUE}.")
    ExecutorKind executor;

    @Option(names = "--pool-threads", defaultValue = "16", paramLabel = "N",
            description = "fixed: threads. Default: ${DEFAULT-VALUE}.")
    int poolThreads;

    @Option(names = "--max-value-bytes", defaultValue = "16777216", paramLabel = "BYTES",
            description = "Larger values are refused with 413. Default: ${DEFAULT-VALUE}.")
    int maxValueBytes;

    @Option(names = "--answer-text", description = "Respond to PUT, DELETE and a GET of an absent key with a line of text, "
            + "as the published server did. Without it these responses have no body, so they are one write and Nagle's "
            + "algorithm spares them.")
    boolean responseText;

    void validate() {
        require(data != null || engine != Engine.FILES, "--engine files needs a folder; add --data DIR.");
        require(port >= 0 && port <= MAX_PORT, "--port is " + port + ", but must be 0 to " + MAX_PORT + ".");
        require(backlog > 0, "--backlog is " + backlog + ", but must be at least 1.");
        require(poolThreads > 0, "--pool-threads is " + poolThreads + ", but must be at least 1.");
        require(maxValueBytes >= 0, "--max-value-bytes is " + maxValueBytes + ", but must be at least 0.");
        require(preset.equals("published") || preset.equals("tuned"), "--preset is '" + preset
                + "', but must be published or tuned.");
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalArgumentException(otherwise);
        }
    }

    Store openStore() {
        return switch (engine) {
            case FILES -> new FilesStore(data, preset.equals("tuned") ? FileLayout.FANNED : FileLayout.FLAT);
            case MEMORY -> new MemoryStore();
            case NOOP -> new NoopStore();
        };
    }

    String engineName() {
        return engine.name().toLowerCase(java.util.Locale.ROOT);
    }

    private static final class EngineConverter implements ITypeConverter<Engine> {
        @Override
        public Engine convert(String text) {
            for (Engine engine : Engine.values()) {
                if (engine.name().toLowerCase(java.util.Locale.ROOT).equals(text)) {
                    return engine;
                }
            }
            throw new TypeConversionException("'" + text + "' is not one of [files, memory, noop]");
        }
    }

    static final class ExecutorConverter implements ITypeConverter<ExecutorKind> {
        @Override
        public ExecutorKind convert(String text) {
            for (ExecutorKind kind : ExecutorKind.values()) {
                if (kind.toString().equals(text)) {
                    return kind;
                }
            }
            throw new TypeConversionException("'" + text + "' is not one of " + Arrays.toString(ExecutorKind.values()));
        }
    }
}
