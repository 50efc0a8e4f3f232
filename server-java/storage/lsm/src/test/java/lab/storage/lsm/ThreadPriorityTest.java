package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Threads for which writers wait have the priority of the writers; on a busy core they would wait for each other. */
@EnabledOnOs(OS.LINUX)
class ThreadPriorityTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(120);
    /** Names as the kernel keeps them, 15 characters at most. */
    private static final List<String> WAITED_FOR = List.of("lsm-flush", "lsm-compact-fre");
    private static final int NICE_FIELD_AFTER_NAME = 16;

    @TempDir
    private Path folder;

    /** Nice values of the threads of this process, by name. */
    private static Map<String, Integer> niceByName() throws IOException {
        Map<String, Integer> nice = new HashMap<>();
        try (var tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path task : tasks) {
                try {
                    String line = Files.readString(task.resolve("stat"));
                    int end = line.lastIndexOf(')');
                    String name = line.substring(line.indexOf('(') + 1, end);
                    nice.put(name, nice(line));
                } catch (IOException e) {
                    // The thread has ended, before its file was opened or before it was read.
                }
            }
        }
        return nice;
    }

    private static int nice(String line) {
        return Integer.parseInt(line.substring(line.lastIndexOf(')') + 2).split(" ")[NICE_FIELD_AFTER_NAME]);
    }

    @Test
    void flushesAndMergesOfFreshRunsHaveThePriorityOfTheProcess() throws IOException {
        try (LsmStorage storage = new LsmStorage(folder, LsmOptions.defaults())) {
            // A thread sets its own priority before it works, so the flusher has when a flush is done.
            storage.put(utf8("key"), utf8("value"));
            storage.flush();
            int own = nice(Files.readString(Path.of("/proc/self/stat")));
            assertTimeoutPreemptively(TIMEOUT, () -> {
                while (!niceByName().keySet().containsAll(WAITED_FOR)) {
                    Thread.sleep(5);
                }
            });
            Map<String, Integer> nice = niceByName();
            for (String name : WAITED_FOR) {
                assertEquals(own, nice.get(name), name + " of " + nice);
            }
        }
    }
}
