package lab.storage.lsm.disk;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Everything that changes files, in one place, so that a test can put a disk under the store that is full or fails; and
 * reads whose failure is an exception. Through a mapping it would be a signal.
 */
public class Disk {

    private static final String THIS_BOOT = thisBoot();

    /** The disk of this machine. */
    public static final Disk REAL = new Disk();

    /**
     * Names the time since the machine was started last: as long as it is the same, whatever a process has written is there,
     * forced to disk or not, although the process was killed. Empty where that is not known.
     */
    public String boot() {
        return THIS_BOOT;
    }

    private static String thisBoot() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /** Makes a file, or empties it, and opens it for reading and writing. */
    public FileChannel create(Path file) throws IOException {
        return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    /** Opens a file that is there, for reading and writing. */
    public FileChannel open(Path file) throws IOException {
        return FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    /** Opens a file that is there, for reading. */
    public FileChannel openToRead(Path file) throws IOException {
        return FileChannel.open(file, StandardOpenOption.READ);
    }

    /** Fills the rest of a buffer with the bytes from this position of the file on. */
    public void read(FileChannel channel, ByteBuffer into, long position) throws IOException {
        long at = position;
        while (into.hasRemaining()) {
            int bytes = channel.read(into, at);
            if (bytes < 0) {
                throw new EOFException("the file ends at " + at);
            }
            at += bytes;
        }
    }

    /** Fills the rest of a buffer with the bytes from this position of a mapped file on, without a call of the kernel. */
    public void read(MemorySegment mapped, ByteBuffer into, long position) {
        MemorySegment.copy(mapped, position, MemorySegment.ofBuffer(into), 0, into.remaining());
        into.position(into.limit());
    }

    /** Writes all the bytes that remain in the buffer, from this position of the file on. */
    public void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
        long at = position;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
    }

    /** Cuts a file and returns when that is on disk. */
    public void truncate(Path file, long bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(bytes);
            force(channel);
        }
    }

    /** Returns when the contents of the file are on disk. */
    public void force(FileChannel channel) throws IOException {
        channel.force(false);
    }

    /** Returns when the names in a folder are on disk; a new file is lost with the power if only its contents were forced. */
    public void forceFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Gives a file the name of another one, which it replaces, as one step. */
    public void rename(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Gives a file another name, in addition to the one that it has. */
    public void link(Path file, Path name) throws IOException {
        Files.createLink(name, file);
    }

    /** Removes a file; one that is not there is no error. */
    public void delete(Path file) throws IOException {
        Files.deleteIfExists(file);
    }
}
