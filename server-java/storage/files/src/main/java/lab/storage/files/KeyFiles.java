package lab.storage.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import lab.storage.EngineMarker;
import lab.storage.FolderLock;
import lab.storage.StorageException;
import lab.storage.StorageFullException;

/**
 * One file a key. A value is written to a file of its own and then moved to its place, so a reader and a process that is
 * killed find the old value or the new one, never a half. Nothing is synced to the disk, as in report 2.
 *
 * <p>Knows byte arrays only, so that it runs on a JDK 17 too.
 */
public final class KeyFiles implements AutoCloseable {

    private static final String LOCK = ".lock";
    private static final String UNFINISHED = ".new";
    private static final int STRIPES = 64;
    private static final int LENGTH_BYTES = Integer.BYTES;
    private static final long ABSENT = -1;

    private final Path root;
    private final FileLayout layout;
    private final FolderLock lock;
    /** Writers share it; taking a snapshot needs it alone. */
    private final ReentrantReadWriteLock writes = new ReentrantReadWriteLock();
    private final ReentrantLock[] stripes = new ReentrantLock[STRIPES];
    private final FileSnapshots snapshots;
    private final AtomicLong unfinished = new AtomicLong();
    private final AtomicLong count = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();

    /**
     * Opens a folder, which is made if it is missing.
     *
     * @throws StorageException if another process uses it, or if it cannot be used
     */
    public KeyFiles(Path root, FileLayout layout) {
        this.root = root;
        this.layout = layout;
        Arrays.setAll(stripes, i -> new ReentrantLock());
        FolderLock taken = null;
        try {
            Files.createDirectories(root);
            EngineMarker.claim(root, "files");
            taken = FolderLock.take(root, LOCK);
            lock = taken;
            snapshots = new FileSnapshots(root);
            prepare();
        } catch (IOException | DirectoryIteratorException e) {
            if (taken != null) {
                taken.close();
            }
            throw new StorageException("The folder " + root + " cannot be used: " + e
                    + ". Check that this user may write to it, or choose another with --data.", e);
        }
    }

    private void prepare() throws IOException {
        Files.createDirectories(root.resolve(UNFINISHED));
        try (DirectoryStream<Path> left = Files.newDirectoryStream(root.resolve(UNFINISHED))) {
            for (Path file : left) {
                Files.delete(file);
            }
        }
        for (int i = 0; i < layout.folders(); i++) {
            Files.createDirectories(layout.folder(root, i));
        }
        for (Path file : files()) {
            count.incrementAndGet();
            bytes.addAndGet(Files.size(file));
        }
    }

    /** Files of all keys, in no order. */
    private List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>();
        if (layout.folders() == 0) {
            addFiles(root, files);
        }
        for (int i = 0; i < layout.folders(); i++) {
            addFiles(layout.folder(root, i), files);
        }
        return files;
    }

    private static void addFiles(Path folder, List<Path> files) throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            for (Path entry : entries) {
                if (entry.getFileName().toString().charAt(0) != '.') {
                    files.add(entry);
                }
            }
        }
    }

    /** The value of a key, or null. */
    public byte[] get(byte[] key) {
        String name = FileNames.of(key);
        return read(layout.file(root, name), name);
    }

    private byte[] read(Path file, String name) {
        try {
            byte[] content = Files.readAllBytes(file);
            return FileNames.isHashed(name) ? Arrays.copyOfRange(content, LENGTH_BYTES
                    + ByteBuffer.wrap(content).getInt(), content.length) : content;
        } catch (NoSuchFileException e) {
            return null;
        } catch (IOException e) {
            throw failed("read", file, e);
        }
    }

    /** Stores a value, replacing an older one. */
    public void put(byte[] key, byte[] value) {
        String name = FileNames.of(key);
        Path file = layout.file(root, name);
        Path fresh = root.resolve(UNFINISHED).resolve(Long.toString(unfinished.incrementAndGet()));
        writes.readLock().lock();
        ReentrantLock stripe = stripe(name);
        stripe.lock();
        try {
            long newBytes;
            try (FileChannel channel = FileChannel.open(fresh, StandardOpenOption.CREATE_NEW,
                    StandardOpenOption.WRITE)) {
                if (FileNames.isHashed(name)) {
                    ByteBuffer head = ByteBuffer.allocate(LENGTH_BYTES + key.length).putInt(key.length).put(key);
                    writeAll(channel, head.flip());
                }
                writeAll(channel, ByteBuffer.wrap(value));
                newBytes = channel.size();
            }
            long oldBytes = keep(file, name);
            Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
            // Only now, for each step before may find the disk full.
            bytes.addAndGet(newBytes - Math.max(0, oldBytes));
            count.addAndGet(oldBytes == ABSENT ? 1 : 0);
        } catch (IOException e) {
            fresh.toFile().delete();
            throw failed("write", file, e);
        } finally {
            stripe.unlock();
            writes.readLock().unlock();
        }
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** Keeps a file that will be replaced or deleted for the snapshots that see it; gives its size, or {@link #ABSENT}. */
    private long keep(Path file, String name) throws IOException {
        long oldBytes = file.toFile().length();
        if (oldBytes == 0 && !file.toFile().exists()) {
            return ABSENT;
        }
        snapshots.keep(name, file);
        return oldBytes;
    }

    /** Removes a key, if it is there. */
    public void delete(byte[] key) {
        String name = FileNames.of(key);
        Path file = layout.file(root, name);
        writes.readLock().lock();
        ReentrantLock stripe = stripe(name);
        stripe.lock();
        try {
            long oldBytes = keep(file, name);
            Files.deleteIfExists(file);
            if (oldBytes != ABSENT) {
                bytes.addAndGet(-oldBytes);
                count.decrementAndGet();
            }
        } catch (IOException e) {
            throw failed("delete", file, e);
        } finally {
            stripe.unlock();
            writes.readLock().unlock();
        }
    }

    private ReentrantLock stripe(String name) {
        int hash = name.hashCode();
        return stripes[(hash ^ hash >>> 16) & STRIPES - 1];
    }

    /**
     * The keys of a range in order, as they are now, with their values. Costs a list of all names and holds the keys of
     * the range in memory; values are read one by one.
     *
     * @param from first key, or null
     * @param to   key before which it ends, or null
     */
    public FileCursor range(byte[] from, byte[] to) {
        List<byte[]> keys = new ArrayList<>();
        long snapshot;
        writes.writeLock().lock();
        try {
            for (Path file : files()) {
                String name = file.getFileName().toString();
                byte[] key = FileNames.isHashed(name) ? hashedKey(file) : FileNames.key(name);
                if ((from == null || Arrays.compareUnsigned(key, from) >= 0)
                        && (to == null || Arrays.compareUnsigned(key, to) < 0)) {
                    keys.add(key);
                }
            }
            snapshot = snapshots.open();
        } catch (IOException e) {
            throw failed("list", root, e);
        } finally {
            writes.writeLock().unlock();
        }
        keys.sort(Arrays::compareUnsigned);
        return new FileCursor(this, keys, snapshot);
    }

    private static byte[] hashedKey(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer length = ByteBuffer.allocate(LENGTH_BYTES);
            channel.read(length, 0);
            ByteBuffer key = ByteBuffer.allocate(length.getInt(0));
            channel.read(key, LENGTH_BYTES);
            return key.array();
        }
    }

    /** The value that a key had when a snapshot was taken, in which it was present. */
    byte[] get(byte[] key, long snapshot) {
        String name = FileNames.of(key);
        ReentrantLock stripe = stripe(name);
        stripe.lock();
        try {
            Path kept = snapshots.find(name, snapshot);
            return read(kept == null ? layout.file(root, name) : kept, name);
        } finally {
            stripe.unlock();
        }
    }

    void release(long snapshot) {
        try {
            snapshots.close(snapshot);
        } catch (IOException e) {
            throw failed("delete", root, e);
        }
    }

    private static StorageException failed(String what, Path file, IOException e) {
        String message = "Cannot " + what + " " + file;
        return StorageFullException.isNamedBy(e) ? StorageFullException.of(message, e)
                : new StorageException(message + ": " + e + ". Check the disk and the rights of this user.", e);
    }

    /** Number of keys. */
    public long count() {
        return count.get();
    }

    /** Bytes of the files. */
    public long bytes() {
        return bytes.get();
    }

    /** Lets other processes use the folder. May be called twice. */
    @Override
    public void close() {
        lock.close();
    }
}
