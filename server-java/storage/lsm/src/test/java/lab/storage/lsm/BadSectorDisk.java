package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import lab.storage.lsm.disk.Disk;

/** A disk that cannot read a part of each file, and says what Linux says then. */
final class BadSectorDisk extends Disk {

    private volatile long from = Long.MAX_VALUE;
    private volatile long to = Long.MAX_VALUE;

    void breakBytes(long first, long end) {
        to = end;
        from = first;
    }

    void repair() {
        from = Long.MAX_VALUE;
    }

    @Override
    public void read(FileChannel channel, ByteBuffer into, long position) throws IOException {
        if (position < to && position + into.remaining() > from) {
            throw new IOException("Input/output error");
        }
        super.read(channel, into, position);
    }
}
