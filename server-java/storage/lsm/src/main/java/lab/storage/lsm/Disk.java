package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Everything that changes files, in one place, so that a test can put a disk under the store that is full or fails. Reads
 * go through mappings and need no seam.
 */
class Disk {

    /** The disk of this machine. */
    static final Disk REAL = new Disk();

    /** Makes a file, or empties it, and opens it for reading and writing. */
    FileChannel create(Path file) throws IOException {
        return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    /** Writes all the bytes that remain in the buffer, from this position of the file on. */
    void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
        long at = position;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
    }

    /** Cuts a file and returns when that is on disk. */
    void truncate(Path file, long bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(bytes);
            force(channel);
        }
    }

    /** Returns when the contents of the file are on disk. */
    void force(FileChannel channel) throws IOException {
        channel.force(false);
    }

    /** Returns when the names in a folder are on disk; a new file is lost with the power if only its contents were forced. */
    void forceFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Gives a file the name of another one, which it replaces, as one step. */
    void rename(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Removes a file; one that is not there is no error. */
    void delete(Path file) throws IOException {
        Files.deleteIfExists(file);
    }
}
