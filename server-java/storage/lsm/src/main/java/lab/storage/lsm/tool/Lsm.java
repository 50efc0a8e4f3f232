package lab.storage.lsm.tool;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import lab.storage.FolderLock;
import lab.storage.StorageException;

/**
 * Looks into the folder of a store that no process has open, and repairs it: {@code java -cp server.jar
 * lab.storage.lsm.tool.Lsm dump|verify|repair FOLDER}.
 */
public final class Lsm {

    static final int WHOLE = 0;
    static final int DAMAGED = 1;
    static final int CANNOT_READ = 2;
    private static final String USAGE = """
            Usage: java -cp server.jar lab.storage.lsm.tool.Lsm dump|verify|repair FOLDER

              dump    show what the manifest says and what each table and log holds
              verify  read everything and name what is damaged
              repair  go on with what is whole; what is damaged is set aside in FOLDER/set-aside-N

            Exit codes: 0 whole or repaired, 1 damaged, 2 wrong arguments, in use or not readable.
            """;

    private Lsm() {
    }

    /** Runs one command and ends the process. */
    public static void main(String[] args) {
        System.exit(run(args, System.out));
    }

    static int run(String[] args, PrintStream out) {
        if (args.length != 2 || !args[0].matches("dump|verify|repair")) {
            out.print(USAGE);
            return CANNOT_READ;
        }
        Path folder = Path.of(args[1]);
        if (!Files.isDirectory(folder)) {
            out.println("The folder " + folder + " is not there. Give the one that the server has as --data.");
            return CANNOT_READ;
        }
        try (FolderLock _ = FolderLock.take(folder, "LOCK")) {
            return switch (args[0]) {
                case "dump" -> new Inspection(folder, out).dump() == 0 ? WHOLE : DAMAGED;
                case "verify" -> new Inspection(folder, out).verify() == 0 ? WHOLE : DAMAGED;
                default -> {
                    new Repair(folder, out).run();
                    yield WHOLE;
                }
            };
        } catch (IOException | StorageException e) {
            out.println("The folder " + folder + " cannot be read: " + e.getMessage());
            return CANNOT_READ;
        }
    }
}
