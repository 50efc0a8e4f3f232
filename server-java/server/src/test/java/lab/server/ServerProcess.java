package lab.server;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.storage.conformance.Length;
import lab.storage.conformance.ShortLived;

/** The server as a process of its own. Never outlives the test. */
final class ServerProcess implements AutoCloseable {

    private static final int STOP_TIMEOUT_S = 120;

    private final Process process;
    private final Path errors;
    private final BufferedReader out;

    private ServerProcess(Process process, Path errors) {
        this.process = process;
        this.errors = errors;
        this.out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /**
     * Starts it on the class path of the tests.
     *
     * @param errors   file for its standard error
     * @param jvmFlags flags of the JVM
     * @param flags    flags of the server
     */
    static ServerProcess start(Path errors, List<String> jvmFlags, String... flags) throws IOException {
        return start(errors, System.getProperty("java.class.path"), jvmFlags, flags);
    }

    /** Starts it on a class path. */
    static ServerProcess start(Path errors, String classPath, List<String> jvmFlags, String... flags)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (!Length.LONG) {
            // Most of these processes end before a concurrent collector has paid off, too.
            command.addAll(ShortLived.JVM);
            if (jvmFlags.stream().noneMatch(flag -> flag.endsWith("GC"))) {
                command.add("-XX:+UseSerialGC");
            }
        }
        command.addAll(jvmFlags);
        command.addAll(List.of("-cp", classPath, "lab.server.Main"));
        command.addAll(List.of(flags));
        return new ServerProcess(new ProcessBuilder(command).redirectError(errors.toFile()).start(), errors);
    }

    /** The line that says that it is ready. */
    String readyLine() throws IOException {
        String line = out.readLine();
        assertNotNull(line, () -> "No ready line; the server said: " + errorText());
        return line;
    }

    /** The port in a ready line. */
    static int port(String readyLine) {
        Matcher matcher = Pattern.compile("\"port\":(\\d+)").matcher(readyLine);
        if (!matcher.find()) {
            throw new AssertionError("No port in " + readyLine);
        }
        return Integer.parseInt(matcher.group(1));
    }

    /** What it wrote on the standard output after the ready line; waits for its end. */
    String restOfOutput() throws IOException {
        StringBuilder rest = new StringBuilder();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            rest.append(line).append('\n');
        }
        return rest.toString();
    }

    /** Sends SIGTERM. */
    void terminate() {
        // Through its handle: Process.destroy would close its output before it is read.
        process.toHandle().destroy();
    }

    /** Waits for the end and gives the exit code. */
    int exitCode() throws InterruptedException {
        if (!process.waitFor(STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
            throw new AssertionError("The server did not stop within " + STOP_TIMEOUT_S + " s: " + errorText());
        }
        return process.exitValue();
    }

    /** What it wrote on the standard error. */
    String errorText() {
        try {
            return Files.readString(errors);
        } catch (IOException e) {
            return e.toString();
        }
    }

    /** Ends it as {@code kill -9} does. */
    void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    @Override
    public void close() {
        kill();
    }
}
