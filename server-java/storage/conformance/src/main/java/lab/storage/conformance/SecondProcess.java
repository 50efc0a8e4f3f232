package lab.storage.conformance;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import lab.storage.Storage;
import lab.storage.StorageException;

/** Another process that opens a folder with the engine of a test, says how it went and ends. */
final class SecondProcess {

    /** What it says first when the folder was free; else it says why not. */
    static final String OPENED = "opened";

    private SecondProcess() {
    }

    /** Opens a folder in another process and gives what that says. */
    static String open(Class<? extends StorageConformance> engine, Path folder) throws IOException {
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED", "-cp",
                System.getProperty("java.class.path"), SecondProcess.class.getName(), engine.getName(),
                folder.toString()).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    }

    /** Name of a class of tests, and folder. */
    public static void main(String[] args) throws ReflectiveOperationException {
        StorageConformance engine = (StorageConformance) made(Class.forName(args[0]));
        try (Storage storage = engine.open(Path.of(args[1]))) {
            System.out.println(OPENED + " " + storage.engine());
        } catch (StorageException e) {
            System.out.println(e.getMessage());
        }
    }

    /** An instance of a class of tests, within one of the class around it if there is one. */
    private static Object made(Class<?> type) throws ReflectiveOperationException {
        Constructor<?> constructor = type.getDeclaredConstructors()[0];
        constructor.setAccessible(true);
        return constructor.getParameterCount() == 0 ? constructor.newInstance()
                : constructor.newInstance(made(type.getEnclosingClass()));
    }
}
