package lab.storage.lsm.manifest;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.table.Run;
import lab.storage.lsm.table.Table;

/**
 * Makes a store of hard links to tables, which never change, and a manifest of its own. It is made near its place and
 * renamed into it when it is whole and on disk, so that no one finds a part of it there.
 */
public final class Checkpoint {

    private static final String UNFINISHED = ".part";

    private Checkpoint() {
    }

    /**
     * Makes it.
     *
     * @param store  folder of the tables
     * @param runs   held by the caller
     * @param target missing or empty
     * @throws IOException if it could not be made; the target is as it was
     */
    public static void make(Disk disk, Path store, List<Run> runs, Path target) throws IOException {
        checkEmpty(target);
        Path place = target.toAbsolutePath();
        Path part = place.resolveSibling(place.getFileName() + UNFINISHED);
        Files.createDirectories(place.getParent());
        Files.createDirectory(part);
        List<Path> made = new ArrayList<>();
        try {
            long nextFile = 1;
            for (Table table : Run.tables(runs)) {
                Path link = StoreFolder.tableFile(part, table.id());
                disk.link(StoreFolder.tableFile(store, table.id()), link);
                made.add(link);
                nextFile = Math.max(nextFile, table.id() + 1);
            }
            made.add(part.resolve(Manifest.TEMPORARY_NAME));
            made.add(part.resolve(Manifest.FILE_NAME));
            try (ManifestFile manifest = new ManifestFile(disk, part)) {
                if (!manifest.commit("next-file " + nextFile + '\n', runs)) {
                    throw new IOException("the folder " + part + " cannot be forced to disk");
                }
            }
            disk.rename(part, place);
        } catch (IOException | RuntimeException e) {
            remove(disk, made, part, e);
            throw e;
        }
        disk.forceFolder(place.getParent());
    }

    private static void checkEmpty(Path target) throws IOException {
        if (!Files.exists(target)) {
            return;
        }
        if (!Files.isDirectory(target)) {
            throw new FileAlreadyExistsException(target.toString());
        }
        try (var files = Files.newDirectoryStream(target)) {
            if (files.iterator().hasNext()) {
                throw new DirectoryNotEmptyException(target.toString());
            }
        }
    }

    /** Removes what was made; what cannot be removed stays next to the target. */
    private static void remove(Disk disk, List<Path> made, Path part, Exception cause) {
        try {
            for (Path file : made) {
                disk.delete(file);
            }
            Files.deleteIfExists(part);
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }
}
