package lab.stress.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A process that sees a small file system of its own in a folder, which is really full when it is full. It takes Linux, and
 * a user who may make namespaces; nobody need be root. It holds some bytes that can be given back.
 */
final class SmallFileSystem implements AutoCloseable {

    private static final List<String> NAMESPACE = List.of("unshare", "--user", "--map-root-user", "--mount", "sh", "-c");
    private static final String BALLAST = "ballast";

    private final Path folder;
    private final Process process;

    private SmallFileSystem(Path folder, Process process) {
        this.folder = folder;
        this.process = process;
    }

    /** Whether this machine lets us make one. */
    static boolean isPossible(Path folder) throws IOException, InterruptedException {
        try {
            return new ProcessBuilder(inNamespace("mount -t tmpfs none \"$0\"", folder)).start().waitFor() == 0;
        } catch (IOException e) {
            // There is no such program here.
            return false;
        }
    }

    private static List<String> inNamespace(String script, Path folder) {
        List<String> command = new ArrayList<>(NAMESPACE);
        command.add(script);
        command.add(folder.toString());
        return command;
    }

    /**
     * Starts a program that has the file system in this folder.
     *
     * @param bytes   size of the file system
     * @param ballast bytes of it that are taken until {@link #makeRoom}
     * @param errors  file for its standard error
     */
    static SmallFileSystem run(Path folder, long bytes, long ballast, Path errors, List<String> program)
            throws IOException {
        List<String> command = inNamespace("mount -t tmpfs -o size=" + bytes + " none \"$0\" && head -c " + ballast
                + " /dev/zero > \"$0/" + BALLAST + "\" && exec \"$@\"", folder);
        command.addAll(program);
        return new SmallFileSystem(folder, new ProcessBuilder(command).redirectError(errors.toFile()).start());
    }

    /** The program. */
    Process process() {
        return process;
    }

    /** Gives the ballast back. */
    void makeRoom() throws IOException {
        Files.delete(inside(folder).resolve(BALLAST));
    }

    /** Counts the files in a folder of it whose names end so. */
    long count(Path of, String suffix) throws IOException {
        try (Stream<Path> files = Files.list(inside(of))) {
            return files.filter(file -> file.toString().endsWith(suffix)).count();
        }
    }

    /** Where others than the program find what it has here. */
    private Path inside(Path path) {
        return Path.of("/proc", Long.toString(process.pid()), "root").resolve(Path.of("/").relativize(path));
    }

    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
    }
}
