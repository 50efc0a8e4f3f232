package lab.storage.lsm.manifest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the manifest: as a whole when the store is opened, and from then on what changes, at its end. When the changes
 * have become long, or one could not be written, it is written as a whole again. One thread at a time.
 */
public final class ManifestFile implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ManifestFile.class);
    /** So much may be appended before the file is written as a whole again, and as much as it had then. */
    private static final long APPENDED_BYTES = 64 * 1024;

    private final Disk disk;
    private final Path folder;
    /** Null if the next change writes the file as a whole. */
    private FileChannel channel;
    private long end;
    private long mostBytes;
    private List<Run> written = List.of();

    /** Takes a folder whose manifest will be written. */
    public ManifestFile(Disk disk, Path folder) {
        this.disk = disk;
        this.folder = folder;
    }

    /**
     * Makes these runs the ones that the next start finds.
     *
     * @param heads lines with what else there is to say
     * @return true if that survives a loss of power; false if it is in place, but after a loss of power the state before
     *     may be back
     * @throws IOException if the state before is still in place
     */
    public boolean commit(String heads, List<Run> runs) throws IOException {
        boolean interrupted = Thread.interrupted(); // or it would close the channel
        try {
            return channel == null || end > mostBytes ? replace(heads, runs) : append(heads, runs);
        } catch (RuntimeException | Error e) {
            // The file may have the change or not, so the next one must not build on it.
            close();
            throw e;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean append(String heads, List<Run> runs) throws IOException {
        ByteBuffer change = bytes(withChecksum(heads + difference(runs)));
        long from = end;
        end += change.remaining();
        try {
            disk.write(channel, change, from);
        } catch (IOException e) {
            close();
            return takeBack(from, runs, e);
        }
        try {
            disk.force(channel);
        } catch (IOException e) {
            close();
            LOG.error("The manifest in {} cannot be forced to disk; files of the state before stay there", folder, e);
            written = runs;
            return false;
        }
        written = runs;
        try {
            // Not forced: it says something that is true whether it reaches the disk or not.
            disk.write(channel, bytes(Manifest.DURABLE), end);
            end += Manifest.DURABLE.length();
        } catch (IOException e) {
            close();
        }
        return true;
    }

    /** The change may be whole in the file although writing it has failed, as when the thread was interrupted. */
    private boolean takeBack(long from, List<Run> runs, IOException cause) throws IOException {
        Thread.interrupted();
        try {
            disk.truncate(folder.resolve(Manifest.FILE_NAME), from);
        } catch (IOException e) {
            LOG.error("A change of the manifest in {} failed half-way; files of the state before stay there", folder, cause);
            written = runs;
            return false;
        }
        throw cause;
    }

    private boolean replace(String heads, List<Run> runs) throws IOException {
        close();
        StringBuilder body = new StringBuilder(Manifest.HEADER).append(heads);
        for (Run run : runs) {
            run(body, run);
            run.tables().forEach(table -> table(body, table));
        }
        ByteBuffer whole = bytes(withChecksum(body.toString()) + Manifest.DURABLE);
        end = whole.remaining();
        mostBytes = 2 * end + APPENDED_BYTES;
        Path temporary = folder.resolve(Manifest.TEMPORARY_NAME);
        FileChannel fresh = disk.create(temporary);
        try {
            disk.write(fresh, whole, 0);
            disk.force(fresh);
            disk.rename(temporary, folder.resolve(Manifest.FILE_NAME));
        } catch (Throwable e) {
            fresh.close();
            throw e;
        }
        written = runs;
        try {
            disk.forceFolder(folder);
        } catch (IOException e) {
            fresh.close();
            LOG.error("The folder {} cannot be forced to disk; files of the state before stay there", folder, e);
            return false;
        }
        channel = fresh;
        return true;
    }

    private static String withChecksum(String body) {
        return body + Manifest.checksumLine(body);
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static void run(StringBuilder body, Run run) {
        body.append("run ").append(run.level()).append('\n');
    }

    private static void table(StringBuilder body, Table table) {
        body.append("table ").append(table.id()).append(' ').append(table.sizeBytes()).append('\n');
    }

    /** Lines that make the runs from those that were written last; as many as there are changed ones. */
    private String difference(List<Run> runs) {
        Map<Run, Integer> places = new IdentityHashMap<>();
        for (Run run : written) {
            places.put(run, places.size());
        }
        StringBuilder body = new StringBuilder();
        for (int at = 0; at < runs.size(); ) {
            Integer place = places.get(runs.get(at));
            if (place == null) {
                changed(body, runs.get(at++));
                continue;
            }
            int to = place;
            while (at < runs.size() && to < written.size() && runs.get(at) == written.get(to)) {
                at++;
                to++;
            }
            body.append("keep ").append(place).append(' ').append(to).append('\n');
        }
        return body.toString();
    }

    /** A level of many tables changes by a few of them. */
    private void changed(StringBuilder body, Run run) {
        run(body, run);
        int like = -1;
        for (int i = 0; i < written.size() && run.level() > 0; i++) {
            like = written.get(i).level() == run.level() ? i : like;
        }
        List<Table> before = like < 0 ? List.of() : written.get(like).tables();
        Map<Table, Integer> places = new HashMap<>();
        for (Table table : before) {
            places.put(table, places.size());
        }
        List<Table> tables = run.tables();
        for (int at = 0; at < tables.size(); ) {
            Integer place = places.get(tables.get(at));
            if (place == null) {
                table(body, tables.get(at++));
                continue;
            }
            int to = place;
            while (at < tables.size() && to < before.size() && tables.get(at) == before.get(to)) {
                at++;
                to++;
            }
            body.append("part ").append(like).append(' ').append(place).append(' ').append(to).append('\n');
        }
    }

    /** Gives the file up; the next change writes it as a whole. */
    @Override
    public void close() {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                // What must be on disk was forced.
            }
            channel = null;
        }
    }
}
