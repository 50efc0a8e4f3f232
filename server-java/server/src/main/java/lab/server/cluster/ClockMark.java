package lab.server.cluster;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps in a file a version above all that a node has stamped or stored, so that its clock goes on from there after a
 * restart, whatever the machine's clock says by then.
 *
 * <p>The file is ahead of the clock and written only when the clock has come up with it. It is not forced to the disk:
 * after a loss of power it may be late, and then replicas refuse what is stamped too low, as they do in any case.
 */
final class ClockMark {

    private static final Logger LOG = LoggerFactory.getLogger(ClockMark.class);

    private static final long AHEAD = 10_000_000L << 8;
    private static final int BYTES = 2 * Long.BYTES;

    private final Path path;
    /** Null if nothing is kept. */
    private final RandomAccessFile file;
    private volatile long version;

    private ClockMark(Path path, RandomAccessFile file, long version) {
        this.path = path;
        this.file = file;
        this.version = version;
    }

    /** A mark for a store that keeps nothing over a restart. */
    static ClockMark none() {
        return new ClockMark(null, null, 0);
    }

    /** Reads the mark of a file, which is made if it is not there. */
    static ClockMark open(Path path) {
        try {
            byte[] bytes = Files.exists(path) ? Files.readAllBytes(path) : new byte[0];
            return new ClockMark(path, new RandomAccessFile(path.toFile(), "rw"), read(path, bytes));
        } catch (IOException e) {
            warn(path, e);
            return none();
        }
    }

    private static long read(Path path, byte[] bytes) {
        if (bytes.length == BYTES) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            long version = buffer.getLong();
            if (buffer.getLong() == ~version) {
                return version;
            }
        }
        if (bytes.length > 0) {
            LOG.warn("{} is damaged, so this node's clock starts from that of the machine. It is written anew.", path);
        }
        return 0;
    }

    private static void warn(Path path, IOException cause) {
        LOG.warn("{} cannot be kept, so after a restart this node's clock starts from that of the machine. Make room "
                + "on the disk, or let the server write there.", path, cause);
    }

    /** The version that a clock starts from. */
    long version() {
        return version;
    }

    /** Sees to it that the file is above a version. */
    void cover(long stamped) {
        if (stamped > version && file != null) {
            raise(stamped);
        }
    }

    private synchronized void raise(long stamped) {
        if (stamped > version) {
            write(stamped + AHEAD);
            version = stamped + AHEAD;
        }
    }

    private void write(long value) {
        // No channel: an interrupt would close it.
        try {
            file.seek(0);
            file.write(ByteBuffer.allocate(BYTES).putLong(value).putLong(~value).array());
        } catch (IOException e) {
            warn(path, e);
        }
    }

    /**
     * Writes the place of the clock as it is and closes the file.
     *
     * @param last highest version that the clock gave or observed
     */
    synchronized void close(long last) {
        if (file == null || version == Long.MAX_VALUE) {
            return;
        }
        write(last);
        version = Long.MAX_VALUE;
        try {
            file.close();
        } catch (IOException e) {
            warn(path, e);
        }
    }
}
