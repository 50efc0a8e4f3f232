package lab.storage;

/**
 * A store at one moment: what is written afterwards is not seen. May be read by many threads at once. Holds resources
 * until it is closed; closing it while it is read is safe, and closing it twice does no harm.
 *
 * <p>Reads throw a {@link SnapshotExpiredException} if the store took the snapshot back because it kept too much memory,
 * and an {@link IllegalStateException} after it was closed. Cursors that were opened before go on.
 */
public interface Snapshot extends Reads, AutoCloseable {

    @Override
    void close();
}
