package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The folder of jars that the build makes is all that is needed. Runs after the jars are made. */
class DistTest {

    private static final Path DIST = Path.of(System.getProperty("lab.dist", "target/dist"));

    @TempDir
    private Path folder;

    @Test
    void serverRunsFromTheJarsAlone() throws Exception {
        try (ServerProcess server = ServerProcess.start(folder.resolve("errors.log"), DIST + "/*", List.of(),
                "--engine", "lsm", "--data", folder.resolve("data").toString(), "--port", "0");
                RawClient client = new RawClient(ServerProcess.port(server.readyLine()))) {
            assertEquals(201, client.ask("PUT", "/v0/entity?id=a", new byte[] {'1'}).status());
            assertEquals("1", client.ask("GET", "/v0/entity?id=a").text());
            server.terminate();
            assertEquals(143, server.exitCode());
        }
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
    void profilerLiesBesideTheServer() {
        assertTrue(Files.exists(DIST.resolveSibling("profiler").resolve("async-profiler.jar")));
        assertTrue(Files.exists(DIST.resolveSibling("profiler").resolve("jfr-converter.jar")));
    }
}
