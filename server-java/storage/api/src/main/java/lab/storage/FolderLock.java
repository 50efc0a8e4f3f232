package lab.storage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps a second process, or a second store in this one, out of a folder. The kernel drops it with the process.
 */
public final class FolderLock implements AutoCloseable {

    /**
     * Folders of this process. A lock is the process's, and the kernel drops it when the process closes the file, through
     * whichever channel: a second store that opened the file only to be refused would open the folder to others.
     */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path folder;
    /** Null if a library locks the folder against other processes. */
    private final FileChannel channel;
    private boolean closed;

    private FolderLock(Path folder, FileChannel channel) {
        this.folder = folder;
        this.channel = channel;
    }

    /**
     * Takes a folder, which must be there.
     *
     * @param fileName file in it that is locked, and that names the process
     * @throws StorageException if it is in use
     */
    public static FolderLock take(Path folder, String fileName) throws IOException {
        Path real = claim(folder);
        try {
            return new FolderLock(real, lock(folder, fileName));
        } catch (Throwable e) {
            HELD.remove(real);
            throw e;
        }
    }

    /**
     * Takes a folder among the stores of this process alone: for a library that has a lock of its own, and that would lose
     * it to a second store.
     *
     * @throws StorageException if a store of this process uses it
     */
    public static FolderLock takeInThisProcess(Path folder) throws IOException {
        return new FolderLock(claim(folder), null);
    }

    private static Path claim(Path folder) throws IOException {
        Path real = folder.toRealPath();
        if (!HELD.add(real)) {
            throw inUse(folder, Long.toString(ProcessHandle.current().pid()));
        }
        return real;
    }

    private static FileChannel lock(Path folder, String fileName) throws IOException {
        Path file = folder.resolve(fileName);
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE);
        try {
            if (channel.tryLock() == null) {
                throw inUse(folder, owner(file));
            }
            channel.truncate(0);
            channel.write(ByteBuffer.wrap(Long.toString(ProcessHandle.current().pid())
                    .getBytes(StandardCharsets.US_ASCII)));
            return channel;
        } catch (Throwable e) {
            channel.close();
            throw e;
        }
    }

    private static StorageException inUse(Path folder, String process) {
        return new StorageException("The folder " + folder + " is in use by process " + process
                + ". Stop that process, or choose another folder with --data.");
    }

    private static String owner(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.US_ASCII).strip();
    }

    /** Gives the folder back. May be called twice. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The lock of " + folder + " cannot be given back.", e);
        } finally {
            HELD.remove(folder);
        }
    }
}
