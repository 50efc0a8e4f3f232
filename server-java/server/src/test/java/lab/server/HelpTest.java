package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.storage.conformance.FreePort;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code --help} shows is enough to start the server, and what it shows works as it stands there. */
class HelpTest {

    private static final int TERMINATED = 143;
    private static String help;

    @TempDir
    private Path folder;

    @BeforeAll
    static void ask(@TempDir Path folder) throws Exception {
        try (ServerProcess server = ServerProcess.start(folder.resolve("help.log"), List.of(), "--help")) {
            help = server.restOfOutput();
            assertEquals(0, server.exitCode());
        }
    }

    @Test
    void exitCodesReadyLineAndJvmFlagsAreNamed() {
        for (String part : List.of("Exit codes:", "  1 ", "  2 ", "  130 ", "  143 ", "JVM flags:", "-Xmx128m", "Ready line",
                "{\"event\":\"ready\"", "One node:", "Three nodes:", "Three nodes in one process:", "--cluster-secret-file", "server.jar lsm dump|verify|repair FOLDER")) {
            assertTrue(help.contains(part), part + " is not in " + help);
        }
        assertTrue(help.lines().noneMatch(line -> line.length() > 80), "lines are short enough for a terminal");
    }

    @Test
    void examplesWorkAsTheyStand() throws Exception {
        assertEquals(List.of(1), putsOn(commands("One node:"), ""));
        assertEquals(List.of(1, 1, 1), putsOn(commands("Three nodes:"), "&ack=3"));
        assertEquals(List.of(1), putsOn(commands("Three nodes in one process:"), "&ack=3"));
    }

    /** Starts the commands, puts a key on each process, and stops them. Returns how many keys each has taken. */
    private List<Integer> putsOn(List<List<String>> commands, String parameters) throws Exception {
        List<ServerProcess> processes = new ArrayList<>();
        try {
            for (List<String> command : commands) {
                int jar = command.indexOf("-jar");
                assertEquals("server.jar", command.get(jar + 1));
                processes.add(ServerProcess.start(folder.resolve("errors" + processes.size()),
                        command.subList(1, jar), command.subList(jar + 2, command.size()).toArray(new String[0])));
            }
            List<Integer> taken = new ArrayList<>();
            List<Integer> ports = new ArrayList<>();
            for (ServerProcess process : processes) {
                ports.add(ServerProcess.port(process.readyLine()));
            }
            for (int port : ports) {
                try (RawClient client = new RawClient(port)) {
                    assertEquals(201, client.ask("PUT", "/v0/entity?id=key" + parameters, new byte[3]).status());
                    taken.add(1);
                }
            }
            for (ServerProcess process : processes) {
                process.terminate();
                assertEquals(TERMINATED, process.exitCode());
            }
            return taken;
        } finally {
            processes.forEach(ServerProcess::close);
        }
    }

    /** The words of each command that starts a server below a heading, on free ports and in a folder of the test. */
    private List<List<String>> commands(String heading) throws IOException {
        Map<String, String> variables = new HashMap<>();
        List<List<String>> commands = new ArrayList<>();
        boolean below = false;
        String examples = withFreePorts(help.substring(help.indexOf("One node:")));
        for (String line : examples.lines().toList()) {
            Matcher assignment = Pattern.compile("  ([A-Z]+)=\"?([^\"]*)\"?").matcher(line);
            if (!line.startsWith("  ")) {
                below = line.equals(heading) || below && !line.isEmpty();
            } else if (assignment.matches()) {
                variables.put(assignment.group(1), expanded(assignment.group(2), variables));
            } else if (below && line.startsWith("  $SERVER ")) {
                String command = expanded(line, variables).replace(" &", "")
                        .replaceAll(" --data (\\w+)", " --data " + Files.createTempDirectory(folder, "data"));
                commands.add(List.of(command.strip().split(" +")));
            }
        }
        Files.writeString(folder.resolve("secret"), "0123456789abcdef0123456789abcdef");
        return commands.stream().map(command -> command.stream().map(word ->
                word.equals("secret") ? folder.resolve("secret").toString() : word).toList()).toList();
    }

    private static String expanded(String text, Map<String, String> variables) {
        String expanded = text;
        for (Map.Entry<String, String> variable : variables.entrySet()) {
            expanded = expanded.replace("$" + variable.getKey(), variable.getValue());
        }
        return expanded;
    }

    /** The ports of the examples may be in use here. One process with three nodes takes three in a row, or any. */
    private static String withFreePorts(String examples) {
        String free = examples.replace("--port 8081 --nodes", "--port 0 --nodes");
        for (int port = 8080; port <= 8083; port++) {
            free = free.replace(Integer.toString(port), Integer.toString(FreePort.next()));
        }
        return free;
    }
}
