package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import lab.storage.StorageException;

/** Keeps a second process, or a second store in this one, out of a folder. The kernel drops it with the process. */
final class FolderLock implements AutoCloseable {

    private static final String FILE_NAME = "LOCK";

    private final FileChannel channel;

    private FolderLock(FileChannel channel) {
        this.channel = channel;
    }

    static FolderLock take(Path folder) throws IOException {
        Path file = folder.resolve(FILE_NAME);
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE);
        try {
            FileLock lock;
            try {
                lock = channel.tryLock();
            } catch (OverlappingFileLockException e) {
                lock = null;
            }
            if (lock == null) {
                throw new StorageException("The folder " + folder + " is in use by process " + owner(file)
                        + ". Stop that process, or choose another folder with --data.");
            }
            channel.truncate(0);
            channel.write(ByteBuffer.wrap(Long.toString(ProcessHandle.current().pid())
                    .getBytes(StandardCharsets.US_ASCII)));
            return new FolderLock(channel);
        } catch (Throwable e) {
            channel.close();
            throw e;
        }
    }

    private static String owner(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.US_ASCII).strip();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
