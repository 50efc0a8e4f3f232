package lab.storage.files;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Files that were replaced or deleted while a snapshot could see them. A second link keeps such a file, so that nothing
 * is copied. Each key is kept at most once for each snapshot.
 */
final class FileSnapshots {

    private static final String FOLDER = ".kept";

    private final Path folder;
    private final TreeSet<Long> open = new TreeSet<>();
    /** For each name, what it was up to and including a snapshot. */
    private final Map<String, TreeMap<Long, Path>> kept = new HashMap<>();
    private long lastSnapshot;
    private long files;

    FileSnapshots(Path root) throws IOException {
        folder = root.resolve(FOLDER);
        Files.createDirectories(folder);
        try (DirectoryStream<Path> left = Files.newDirectoryStream(folder)) {
            for (Path file : left) {
                Files.delete(file);
            }
        }
    }

    /** Takes a snapshot; no write may be under way. */
    synchronized long open() {
        open.add(++lastSnapshot);
        return lastSnapshot;
    }

    /** Keeps a file that is there now, if a snapshot sees it. */
    synchronized void keep(String name, Path file) throws IOException {
        if (open.isEmpty()) {
            return;
        }
        TreeMap<Long, Path> versions = kept.computeIfAbsent(name, any -> new TreeMap<>());
        long newest = open.last();
        if (versions.isEmpty() || versions.lastKey() < newest) {
            Path link = folder.resolve(Long.toString(++files));
            Files.createLink(link, file);
            versions.put(newest, link);
        }
    }

    /** The file that a snapshot sees for a name, or null if it is the one that is there now. */
    synchronized Path find(String name, long snapshot) {
        Map.Entry<Long, Path> version = kept.getOrDefault(name, new TreeMap<>()).ceilingEntry(snapshot);
        return version == null ? null : version.getValue();
    }

    /** Ends a snapshot and deletes what only it could see. */
    synchronized void close(long snapshot) throws IOException {
        open.remove(snapshot);
        if (open.isEmpty()) {
            for (TreeMap<Long, Path> versions : kept.values()) {
                delete(versions.values());
            }
            kept.clear();
            return;
        }
        for (TreeMap<Long, Path> versions : kept.values()) {
            // A version serves the snapshots up to its number; all of these are closed where it is below the oldest.
            SortedMap<Long, Path> unseen = versions.headMap(open.first());
            delete(unseen.values());
            unseen.clear();
        }
        kept.values().removeIf(Map::isEmpty);
    }

    private static void delete(Collection<Path> paths) throws IOException {
        for (Path path : paths) {
            Files.deleteIfExists(path);
        }
    }
}
