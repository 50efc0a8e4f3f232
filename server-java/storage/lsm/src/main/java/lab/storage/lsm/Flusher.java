package lab.storage.lsm;

import java.io.IOException;
import java.util.List;
import lab.storage.StorageException;
import lab.storage.lsm.background.BackgroundPacer;
import lab.storage.lsm.background.Failure;
import lab.storage.lsm.background.Threads;
import lab.storage.lsm.manifest.StoreFolder;
import lab.storage.lsm.memtable.Memtable;
import lab.storage.lsm.memtable.MemtableCursor;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that writes frozen memtables to tables. If it cannot, it tries again, and writers get an error. It gives way by
 * resting, not by a low priority: when writers wait for it, it must not wait for them.
 */
final class Flusher implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Flusher.class);
    private static final long RETRY_MS = 1_000;
    /** While nobody waits it takes a quarter of a core. */
    private static final int RESTS_PER_WORK = 3;

    private final Tree tree;
    private final StoreFolder folder;
    private final Counters counters;
    private final RowCache cache;
    private final Runnable afterFlush;
    private final Thread thread = new Thread(this::run, "lsm-flush");
    private volatile boolean closing;

    /**
     * @param cache null if there is none
     */
    Flusher(Tree tree, StoreFolder folder, Counters counters, RowCache cache, Runnable afterFlush) {
        this.tree = tree;
        this.folder = folder;
        this.counters = counters;
        this.cache = cache;
        this.afterFlush = afterFlush;
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    private void run() {
        while (!closing) {
            Memtable frozen = null;
            try {
                frozen = tree.awaitFrozen();
                if (frozen != null) {
                    flush(frozen);
                }
            } catch (IOException | RuntimeException | Error e) {
                failed(e);
            } finally {
                if (frozen != null) {
                    frozen.release();
                }
            }
        }
    }

    /** Without this thread writers would wait forever, so nothing may end it, not even a lack of memory to say why. */
    private void failed(Throwable cause) {
        try {
            StorageException reported = Failure.of("The store cannot write its memtable to disk", cause,
                    Failure.RETRIED);
            tree.flushFailed(reported);
            LOG.error("A memtable cannot be written to a table; trying again in {} ms", RETRY_MS, cause);
        } catch (OutOfMemoryError e) {
            // The next attempt says it.
        }
        tree.pause(RETRY_MS);
    }

    private void flush(Memtable frozen) throws IOException {
        FlushEvent event = new FlushEvent();
        event.begin();
        long memtableBytes = frozen.sizeBytes();
        View view = tree.peek();
        int held = view.pins.enter();
        List<Table> tables;
        try {
            List<Run> older = held == Pins.RETIRED ? List.of() : view.runs;
            tables = write(frozen, older);
        } finally {
            if (held != Pins.RETIRED) {
                view.pins.exit(held);
            }
        }
        event.memtableBytes = memtableBytes;
        for (Table table : tables) {
            event.bytes += table.sizeBytes();
            event.entries += table.entries();
            event.table = table.id();
        }
        try {
            commit(frozen, tables, event.bytes);
        } catch (IOException e) {
            StoreFolder.discard(tables);
            throw e;
        } catch (RuntimeException | Error e) {
            // The manifest may name the files: they stay, and if it does not, the next start removes them.
            tables.forEach(Table::release);
            throw e;
        }
        event.commit();
    }

    /** A frozen memtable gets no more writes, so its newest versions are the ones to write. */
    private List<Table> write(Memtable frozen, List<Run> older) throws IOException {
        MemtableCursor entries = new MemtableCursor(frozen, null, null, Long.MAX_VALUE);
        long startedNs = System.nanoTime();
        // By keys, not by bytes: a table is smaller than its memtable, many times if keys were written again and again.
        BackgroundPacer pace = new BackgroundPacer(0, RESTS_PER_WORK, tree::flushIsUrgent,
                bytes -> tree.flushProgress(entries.passedShare(), System.nanoTime() - startedNs));
        try {
            return folder.write(entries, older, pace, () -> false);
        } finally {
            entries.close();
        }
    }

    private void commit(Memtable frozen, List<Table> tables, long bytes) throws IOException {
        if (cache == null) {
            tree.flushed(tables, () -> done(bytes));
            return;
        }
        MemtableCursor entries = new MemtableCursor(frozen, null, null, Long.MAX_VALUE);
        try {
            cache.beforeFlush(entries);
            tree.flushed(tables, () -> {
                done(bytes);
                cache.afterFlush();
            });
        } finally {
            cache.afterFlush();
            entries.close();
        }
    }

    /** Before those who wait for the flush go on, so that merging knows of it when they do. */
    private void done(long bytes) {
        counters.flushed(bytes);
        afterFlush.run();
    }

    @Override
    public void close() {
        closing = true;
        tree.beginClose();
        Threads.joinUninterruptibly(thread);
    }
}
