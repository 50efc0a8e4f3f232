package lab.stress;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import lab.storage.conformance.ShortLived;

/** One node of a cluster as a process that can be killed, frozen and started again. Never outlives the test. */
final class NodeProcess implements AutoCloseable {

    private static final int PATIENCE_S = 60;

    private final Path errors;
    private final List<String> command = new ArrayList<>();
    private Process process;

    /**
     * @param errors file to which its standard error is added
     * @param jvm    flags of the JVM
     * @param flags  flags of the server
     */
    NodeProcess(Path errors, List<String> jvm, List<String> flags) {
        this.errors = errors;
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ShortLived.JVM);
        command.addAll(List.of("-Xmx96m", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"));
        command.addAll(jvm);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "lab.server.Main"));
        command.addAll(flags);
    }

    /** Starts it with further flags and waits until it is ready. */
    void start(List<String> more) throws IOException {
        begin(more);
        awaitReady();
    }

    /** Starts it with further flags. */
    void begin(List<String> more) throws IOException {
        List<String> all = new ArrayList<>(command);
        all.addAll(more);
        process = new ProcessBuilder(all).redirectError(ProcessBuilder.Redirect.appendTo(errors.toFile())).start();
    }

    /** Waits until it is ready. */
    void awaitReady() throws IOException {
        BufferedReader out = process.inputReader();
        assertNotNull(out.readLine(), () -> "The node did not start: " + errorText());
    }

    /** SIGKILL: it ends at once, with whatever it had in its memory. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        awaitEnd();
    }

    /** SIGTERM: it stops cleanly. */
    void stop() throws InterruptedException {
        process.destroy();
        awaitEnd();
    }

    private void awaitEnd() throws InterruptedException {
        if (!process.waitFor(PATIENCE_S, TimeUnit.SECONDS)) {
            throw new AssertionError("The node did not end: " + errorText());
        }
    }

    /** SIGSTOP: it keeps its connections and responds to nothing. */
    void pause() throws IOException, InterruptedException {
        signal("STOP");
    }

    /** SIGCONT: it goes on as if nothing had been. */
    void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String name) throws IOException, InterruptedException {
        int code = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
        if (code != 0) {
            throw new AssertionError("SIG" + name + " could not be sent to " + process.pid());
        }
    }

    String errorText() {
        try {
            return Files.readString(errors);
        } catch (IOException e) {
            return e.toString();
        }
    }

    @Override
    public void close() {
        if (process != null) {
            // SIGKILL ends a frozen process as well.
            process.destroyForcibly();
            process.onExit().join();
        }
    }
}
