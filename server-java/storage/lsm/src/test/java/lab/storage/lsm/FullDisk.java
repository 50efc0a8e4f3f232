package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import lab.storage.lsm.disk.Disk;

/** A disk with room for so many bytes more, which says what Linux says when there is none. */
final class FullDisk extends Disk {

    private long roomBytes = Long.MAX_VALUE;
    private String onlyFor = "";
    private boolean failsToForce;
    private final java.util.Map<FileChannel, String> names = new java.util.WeakHashMap<>();

    /**
     * @param suffix which files it counts, by the end of their names; "" for all
     */
    synchronized void fill(String suffix, long bytesLeft) {
        onlyFor = suffix;
        roomBytes = bytesLeft;
    }

    synchronized void makeRoom() {
        roomBytes = Long.MAX_VALUE;
    }

    synchronized void failToForce(boolean fails) {
        failsToForce = fails;
    }

    @Override
    public FileChannel create(Path file) throws IOException {
        FileChannel channel = super.create(file);
        synchronized (this) {
            names.put(channel, file.toString());
        }
        return channel;
    }

    @Override
    public FileChannel open(Path file) throws IOException {
        FileChannel channel = super.open(file);
        synchronized (this) {
            names.put(channel, file.toString());
        }
        return channel;
    }

    @Override
    public void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
        synchronized (this) {
            if (names.getOrDefault(channel, "").endsWith(onlyFor)) {
                if (bytes.remaining() > roomBytes) {
                    ByteBuffer part = bytes.duplicate().limit(bytes.position() + (int) Math.max(0, roomBytes));
                    super.write(channel, part, position);
                    roomBytes = 0;
                    throw new IOException("No space left on device");
                }
                roomBytes -= bytes.remaining();
            }
        }
        super.write(channel, bytes, position);
    }

    @Override
    public void force(FileChannel channel) throws IOException {
        synchronized (this) {
            if (failsToForce && names.getOrDefault(channel, "").endsWith(onlyFor)) {
                throw new IOException("Input/output error");
            }
        }
        super.force(channel);
    }
}
