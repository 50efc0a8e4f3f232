package lab.storage.lsm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lab.storage.lsm.manifest.Manifest;

/** The files of a store as a process leaves them behind that is killed at this moment. */
final class CrashedCopy {

    private CrashedCopy() {
    }

    /**
     * Copies a folder in use. A copy is not taken at one moment, so it counts only if the manifest was the same before
     * and after: then every file that it asks for was there all the time, and other files are in any state.
     */
    static void take(Path from, Path to) throws IOException {
        while (true) {
            Files.createDirectories(to);
            try {
                // Before the files are listed, which may take so long that a flush adds one and names it.
                String before = manifest(from);
                for (Path file : list(from)) {
                    Files.write(to.resolve(file.getFileName()), Files.readAllBytes(file));
                }
                if (!before.isEmpty()) {
                    Files.writeString(to.resolve(Manifest.FILE_NAME), before);
                }
                if (before.equals(manifest(from))) {
                    return;
                }
            } catch (NoSuchFileException e) {
                // A file was merged away meanwhile; try again.
            }
            for (Path file : list(to)) {
                Files.delete(file);
            }
        }
    }

    private static String manifest(Path folder) throws IOException {
        Path file = folder.resolve(Manifest.FILE_NAME);
        return Files.exists(file) ? Files.readString(file) : "";
    }

    private static List<Path> list(Path folder) throws IOException {
        List<Path> files = new ArrayList<>();
        try (var listing = Files.newDirectoryStream(folder)) {
            listing.forEach(files::add);
        }
        return files;
    }
}
