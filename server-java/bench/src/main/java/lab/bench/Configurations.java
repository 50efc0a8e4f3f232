package lab.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import lab.storage.Storage;

/**
 * Prints how each engine is configured, a line of JSON each. A comparison cannot be judged without it.
 *
 * <p>Arguments: an empty folder, engines.
 */
public final class Configurations {

    private Configurations() {
    }

    /** Runs it. */
    public static void main(String[] args) throws IOException {
        for (int i = 1; i < args.length; i++) {
            Path folder = Files.createDirectory(Path.of(args[0]).resolve("configuration-" + i));
            try (Storage storage = Engines.open(args[i], folder)) {
                System.out.println("{\"engine\": \"" + args[i] + "\", \"settings\": " + json(storage.settings()) + '}');
            }
            Fill.delete(folder);
        }
    }

    private static String json(Map<String, Object> settings) {
        return settings.entrySet().stream().map(setting -> '"' + setting.getKey() + "\": " + json(setting.getValue()))
                .collect(Collectors.joining(", ", "{", "}"));
    }

    private static String json(Object value) {
        return value instanceof Number || value instanceof Boolean ? value.toString() : "\"" + value + '"';
    }
}
