package lab.storage.lsm;

import java.io.IOException;
import lab.storage.StorageException;
import lab.storage.memory.VersionedCursor;
import lab.storage.memory.VersionedMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread that writes frozen memtables to tables. If it cannot, it tries again, and writers are told. */
final class Flusher implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Flusher.class);
    private static final long RETRY_MS = 1_000;

    private final Tree tree;
    private final TableSet tableSet;
    private final Runnable afterFlush;
    private final Thread thread = new Thread(this::run, "lsm-flush");
    private volatile boolean closing;

    Flusher(Tree tree, TableSet tableSet, Runnable afterFlush) {
        this.tree = tree;
        this.tableSet = tableSet;
        this.afterFlush = afterFlush;
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    private void run() {
        while (!closing) {
            VersionedMap frozen = tree.awaitFrozen();
            if (frozen == null) {
                continue;
            }
            try {
                flush(frozen);
                afterFlush.run();
            } catch (IOException | RuntimeException | Error e) {
                failed(frozen, e);
            }
        }
    }

    /** Without this thread writers would wait forever, so nothing may end it, not even a lack of memory to say why. */
    private void failed(VersionedMap frozen, Throwable cause) {
        try {
            tree.flushFailed(new StorageException("The store cannot write its memtable to disk: " + cause
                    + ". Free space or mend the disk; the store tries again every second.", cause));
            LOG.error("A memtable of {} bytes cannot be written to a table; trying again in {} ms",
                    frozen.sizeBytes(), RETRY_MS, cause);
        } catch (OutOfMemoryError e) {
            // The next attempt says it.
        }
        tree.pause(RETRY_MS);
    }

    private void flush(VersionedMap frozen) throws IOException {
        FlushEvent event = new FlushEvent();
        event.begin();
        // A frozen memtable gets no more writes, so its newest versions are the ones to write.
        Table table = tableSet.write(new MemtableCursor(new VersionedCursor(frozen, null, null, Long.MAX_VALUE)),
                () -> false);
        event.memtableBytes = frozen.sizeBytes();
        event.bytes = table.sizeBytes();
        event.entries = table.entries();
        event.table = table.id();
        try {
            tree.flushed(table);
        } catch (IOException | RuntimeException e) {
            // The manifest does not name the file, or only a manifest that was not put in place does.
            table.markObsolete();
            table.release();
            throw e;
        }
        event.commit();
    }

    @Override
    public void close() {
        closing = true;
        tree.beginClose();
        Threads.joinUninterruptibly(thread);
    }
}
