package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import lab.storage.StorageException;

/** Keeps a second process, or a second store in this one, out of a folder. The kernel drops it with the process. */
final class FolderLock implements AutoCloseable {

    private static final String FILE_NAME = "LOCK";

    /**
     * Folders of this process. A lock is the process's, and the kernel drops it when the process closes the file, through
     * whichever channel: a second store that opened the file only to be refused would open the folder to others.
     */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path folder;
    private final FileChannel channel;

    private FolderLock(Path folder, FileChannel channel) {
        this.folder = folder;
        this.channel = channel;
    }

    static FolderLock take(Path folder) throws IOException {
        Path real = folder.toRealPath();
        if (!HELD.add(real)) {
            throw inUse(folder, Long.toString(ProcessHandle.current().pid()));
        }
        try {
            return new FolderLock(real, lock(folder));
        } catch (Throwable e) {
            HELD.remove(real);
            throw e;
        }
    }

    private static FileChannel lock(Path folder) throws IOException {
        Path file = folder.resolve(FILE_NAME);
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

    @Override
    public void close() throws IOException {
        try {
            channel.close();
        } finally {
            HELD.remove(folder);
        }
    }
}
