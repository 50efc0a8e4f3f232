package lab.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
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
