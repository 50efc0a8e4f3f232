package lab.storage.lsm.tool;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import lab.storage.EngineMarker;
import lab.storage.FolderLock;
import lab.storage.StorageException;
import lab.storage.lsm.manifest.Manifest;
import lab.storage.lsm.manifest.StoreFolder;

/**
 * Looks into the folder of a store that no process has open, and repairs it: {@code java -jar server.jar lsm
 * dump|verify|repair FOLDER}.
 */
public final class LsmCommand {

    static final int WHOLE = 0;
    static final int DAMAGED = 1;
    static final int CANNOT_READ = 2;
    private static final String USAGE = """
            Usage: java -jar server.jar lsm dump|verify|repair FOLDER

              dump    show what the manifest says and what each table and log holds
              verify  read everything and name what is damaged
              repair  keep what is whole; what is damaged is set aside in FOLDER/set-aside-N

            Exit codes: 0 whole or repaired, 1 damaged, 2 wrong arguments, no store there, in use or not readable.
            """;

    private LsmCommand() {
    }

    /** Runs one command and ends the process. */
    public static void main(String[] args) {
        // What is damaged is printed; the log of a running store would say it again in other words.
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        System.exit(run(args, System.out));
    }

    /** Runs one command and gives its exit code. */
    public static int run(String[] args, PrintStream out) {
        if (args.length != 2 || !args[0].matches("dump|verify|repair")) {
            out.print(USAGE);
            return CANNOT_READ;
        }
        Path folder = Path.of(args[1]);
        try {
            return holdsAStore(folder) ? run(args[0], folder, out) : thereIsNone(folder, out);
        } catch (StorageException e) {
            out.println(e.getMessage());
            return CANNOT_READ;
        } catch (IOException e) {
            out.println("The folder " + folder + " cannot be read: " + e);
            return CANNOT_READ;
        }
    }

    private static boolean holdsAStore(Path folder) throws IOException {
        return Files.isDirectory(folder) && (Files.exists(folder.resolve(Manifest.FILE_NAME))
                || !StoreFolder.tablesIn(folder).isEmpty() || !StoreFolder.logsIn(folder).isEmpty());
    }

    private static int thereIsNone(Path folder, PrintStream out) {
        out.println("There is no store in the folder " + folder + ". Give the one that the server has as --data; a node of "
                + "a cluster has a folder of its own in it.");
        return CANNOT_READ;
    }

    private static int run(String command, Path folder, PrintStream out) throws IOException {
        EngineMarker.check(folder, "lsm");
        try (FolderLock _ = FolderLock.take(folder, "LOCK")) {
            return switch (command) {
                case "dump" -> new Inspection(folder, out).dump() == 0 ? WHOLE : DAMAGED;
                case "verify" -> new Inspection(folder, out).verify() == 0 ? WHOLE : DAMAGED;
                default -> {
                    new Repair(folder, out).run();
                    yield WHOLE;
                }
            };
        }
    }
}
