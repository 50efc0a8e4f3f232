package lab.storage.lsm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import lab.storage.StorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread that merges tables. A failed merge leaves the tables as they are and is tried again after the next flush. */
final class Compactor implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Compactor.class);

    private final Tree tree;
    private final TableSet tableSet;
    private final LsmOptions.Compaction mode;
    private final Semaphore work = new Semaphore(0);
    private final Thread thread = new Thread(this::run, "lsm-compact");
    private volatile boolean closing;

    Compactor(Tree tree, TableSet tableSet, LsmOptions.Compaction mode) {
        this.tree = tree;
        this.tableSet = tableSet;
        this.mode = mode;
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
        wake();
    }

    /** Says that there may be something to merge. */
    void wake() {
        work.release();
    }

    private void run() {
        while (!closing) {
            try {
                // Nobody interrupts this thread: that would close the file it writes to.
                work.acquireUninterruptibly();
                work.drainPermits();
                while (!closing && mode == LsmOptions.Compaction.SIZE_TIERED && compactOnce()) {
                    // One merge may make the next one due.
                }
            } catch (IOException | RuntimeException | Error e) {
                failed(e);
            }
        }
    }

    /** Nothing may end this thread, not even a lack of memory to say why. */
    private static void failed(Throwable cause) {
        try {
            LOG.error("Tables cannot be merged; they stay as they are until the next flush", cause);
        } catch (OutOfMemoryError e) {
            // The next attempt says it.
        }
    }

    private synchronized boolean compactOnce() throws IOException {
        View view = tree.retain();
        try {
            List<Long> sizes = new ArrayList<>();
            view.tables.forEach(table -> sizes.add(table.sizeBytes()));
            CompactionPolicy.Run run = CompactionPolicy.choose(sizes);
            return run != null && merge(view, run);
        } finally {
            view.release();
        }
    }

    /** Merges everything into one table. */
    synchronized void compactAll() {
        View view = tree.retain();
        try {
            if (!view.tables.isEmpty()) {
                merge(view, new CompactionPolicy.Run(0, view.tables.size()));
            }
        } catch (IOException e) {
            throw new StorageException("The tables cannot be merged: " + e + ". Free space or mend the disk.", e);
        } finally {
            view.release();
        }
    }

    private boolean merge(View view, CompactionPolicy.Run run) throws IOException {
        CompactionEvent event = new CompactionEvent();
        event.begin();
        List<Table> old = view.tables.subList(run.from(), run.to());
        // A delete may go only if nothing older lies below the run that it could still hide.
        boolean dropTombstones = run.to() == view.tables.size();
        List<EntryCursor> cursors = new ArrayList<>();
        for (Table table : old) {
            cursors.add(new TableCursor(table, null, null));
            event.bytesRead += table.sizeBytes();
        }
        Table merged = tableSet.write(new MergeCursor(cursors, dropTombstones), () -> closing);
        if (closing) {
            if (merged != null) {
                merged.markObsolete();
                merged.release();
            }
            return false;
        }
        event.tables = old.size();
        event.bytes = merged == null ? 0 : merged.sizeBytes();
        event.entries = merged == null ? 0 : merged.entries();
        try {
            tree.compacted(old, merged);
        } catch (IOException | RuntimeException e) {
            if (merged != null) {
                merged.markObsolete();
                merged.release();
            }
            throw e;
        }
        event.commit();
        return true;
    }

    @Override
    public void close() {
        closing = true;
        wake();
        Threads.joinUninterruptibly(thread);
    }
}
