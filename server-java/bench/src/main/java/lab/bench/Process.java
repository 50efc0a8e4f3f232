package lab.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the kernel says of this process. Linux only. */
final class Process {

    private static final long KIB = 1024;

    private Process() {
    }

    /** Bytes that this process has caused to be written to disk so far: pages it has made dirty, whoever writes them. */
    static long writtenBytes() {
        return number(Path.of("/proc/self/io"), "write_bytes:");
    }

    /** Memory of its own, mapped files left out. */
    static long anonymousBytes() {
        return number(Path.of("/proc/self/status"), "RssAnon:") * KIB;
    }

    /** Bytes of disk that a folder takes: blocks that are allocated, logs and what is reserved for them included. */
    static long allocatedBytes(Path folder) throws IOException, InterruptedException {
        java.lang.Process du = new ProcessBuilder("du", "-sk", folder.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String line = new String(du.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        du.waitFor();
        if (line.isBlank()) {
            throw new IOException("du says nothing about " + folder + "; check that it is installed.");
        }
        return Long.parseLong(line.split("\\s")[0]) * KIB;
    }

    private static long number(Path file, String name) {
        try {
            for (String line : Files.readAllLines(file)) {
                if (line.startsWith(name)) {
                    return Long.parseLong(line.substring(name.length()).strip().split(" ")[0]);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        throw new IllegalStateException(file + " has no line " + name);
    }
}
