package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import lab.storage.lsm.disk.Disk;

/** A disk on which one thread of the background waits at its next write to a table. */
final class GatedDisk extends Disk {

    /** Counted down when the thread waits. */
    final CountDownLatch reached = new CountDownLatch(1);
    /** Counted down when the table is removed at which it waited. */
    final CountDownLatch removed = new CountDownLatch(1);
    private final CountDownLatch gate = new CountDownLatch(1);
    private final String thread;
    private Path first;
    private final Map<FileChannel, Path> tables = new WeakHashMap<>();

    GatedDisk(String thread) {
        this.thread = thread;
    }

    void open() {
        gate.countDown();
    }

    private boolean isMeant(Path file) {
        return file != null && file.toString().endsWith(".table") && Thread.currentThread().getName().equals(thread);
    }

    @Override
    public FileChannel create(Path file) throws IOException {
        FileChannel channel = super.create(file);
        synchronized (tables) {
            tables.put(channel, file);
        }
        return channel;
    }

    @Override
    public void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
        Path file;
        synchronized (tables) {
            file = tables.get(channel);
        }
        if (isMeant(file)) {
            synchronized (tables) {
                first = first == null ? file : first;
            }
            reached.countDown();
            try {
                gate.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
        super.write(channel, bytes, position);
    }

    @Override
    public void delete(Path file) throws IOException {
        super.delete(file);
        synchronized (tables) {
            if (file.equals(first)) {
                removed.countDown();
            }
        }
    }
}
