package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The folder of jars that the build makes is all that is needed. Runs after the jars are made. */
class DistTest {

    private static final Path DIST = Path.of(System.getProperty("lab.dist", "target/dist"));

    private static final int KEYS = 100;

    @TempDir
    private Path folder;

    @Test
    void serverRunsFromTheJarsAlone() throws Exception {
        try (ServerProcess server = start(folder.resolve("data"), folder.resolve("errors.log"));
                RawClient client = client(server)) {
            assertEquals(201, client.ask("PUT", "/v0/entity?id=a", new byte[] {'1'}).status());
            assertEquals("1", client.ask("GET", "/v0/entity?id=a").text());
            server.terminate();
            assertEquals(143, server.exitCode());
        }
    }

    /** Puts some values and changes a byte of the table; gives the number of those that can be read then. */
    private static int fillAndDamage(Path data, Path errors) throws Exception {
        try (ServerProcess server = start(data, errors); RawClient client = client(server)) {
            for (int i = 0; i < KEYS; i++) {
                assertEquals(201, client.ask("PUT", "/v0/entity?id=key" + i, new byte[1_000]).status());
            }
            server.terminate();
            assertEquals(143, server.exitCode());
        }
        Path table;
        try (Stream<Path> files = Files.list(data)) {
            table = files.filter(file -> file.toString().endsWith(".table")).findFirst().orElseThrow();
        }
        byte[] bytes = Files.readAllBytes(table);
        bytes[bytes.length / 2] ^= 1;
        Files.write(table, bytes);
        return readable(data, errors);
    }

    private static ServerProcess start(Path data, Path errors) throws Exception {
        return ServerProcess.start(errors, DIST + "/*", List.of(), "--engine", "lsm", "--data", data.toString(), "--port",
                "0");
    }

    private static RawClient client(ServerProcess server) throws Exception {
        return new RawClient(ServerProcess.port(server.readyLine()));
    }

    /** Starts the server; gives the number of keys that it responds to with 200, of the others with 404 or 500. */
    private static int readable(Path data, Path errors) throws Exception {
        int readable = 0;
        try (ServerProcess server = start(data, errors); RawClient client = client(server)) {
            for (int i = 0; i < KEYS; i++) {
                readable += client.ask("GET", "/v0/entity?id=key" + i).status() == 200 ? 1 : 0;
            }
            server.terminate();
            assertEquals(143, server.exitCode());
        }
        return readable;
    }

    /** Runs {@code java -jar server.jar lsm}, as {@code --help} says; gives its exit code and output. */
    private static String tool(String command, Path data) throws Exception {
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-jar",
                DIST.resolve("server.jar").toString(), "lsm", command, data.toString()).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return process.waitFor() + ": " + output;
    }

    @Test
    void damagedStoreIsVerifiedAndRepaired() throws Exception {
        Path data = folder.resolve("data");
        int left = fillAndDamage(data, folder.resolve("errors.log"));
        assertTrue(left > KEYS / 2 && left < KEYS, left + " keys are readable");
        String damaged = tool("verify", data);
        assertTrue(damaged.matches("1: \\d+\\.table offset \\d+: checksum of the block .*\n1 damaged part\\. .*\n"), damaged);
        String dumped = tool("dump", data);
        assertTrue(dumped.matches("(?s)0: next-file .*  table \\d+: .* " + KEYS + " entries.*"), dumped);
        String repaired = tool("repair", data);
        assertTrue(repaired.matches("(?s)0: .*Repaired\\. What was damaged is in .*set-aside-1; .*"), repaired);
        String whole = tool("verify", data);
        assertTrue(whole.startsWith("0: The store is whole: " + left + " entries in tables"), whole);
        assertEquals(left, readable(data, folder.resolve("errors.log")));
    }

    @Test
    void mainJarNamesItsMainClass() throws Exception {
        try (JarFile jar = new JarFile(DIST.resolve("server.jar").toFile())) {
            assertEquals("lab.server.Main", jar.getManifest().getMainAttributes().getValue("Main-Class"));
            for (String name : jar.getManifest().getMainAttributes().getValue("Class-Path").split(" ")) {
                assertTrue(Files.exists(DIST.resolve(name)), name);
            }
        }
    }

    @Test
    void profilerIsInTheServersFolder() {
        assertTrue(Files.exists(DIST.resolveSibling("profiler").resolve("async-profiler.jar")));
        assertTrue(Files.exists(DIST.resolveSibling("profiler").resolve("jfr-converter.jar")));
    }
}
