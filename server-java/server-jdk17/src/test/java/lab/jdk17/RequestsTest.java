package lab.jdk17;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What this server has beyond the contract that the other servers share; that one is tested with theirs. */
class RequestsTest {

    private final HttpClient client = HttpClient.newHttpClient();

    @TempDir
    private Path folder;

    private HttpResponse<String> put(Jdk17Server server, String value) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + "/v0/entity?id=a"))
                .PUT(BodyPublishers.ofString(value)).build(), BodyHandlers.ofString());
    }

    private HttpResponse<String> get(Jdk17Server server, String key) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + "/v0/entity?id=" + key))
                .build(), BodyHandlers.ofString());
    }

    @Test
    void responsesHaveATextWhereThatIsAsked() throws Exception {
        try (Jdk17Server server = Jdk17Server.start("--engine", "memory", "--port", "0", "--answer-text")) {
            HttpResponse<String> response = put(server, "1");
            assertEquals(201, response.statusCode());
            assertTrue(response.body().length() > 1, response.body());
            HttpResponse<String> absent = get(server, "b");
            assertEquals(404, absent.statusCode());
            assertTrue(absent.body().length() > 1, absent.body());
        }
        try (Jdk17Server server = Jdk17Server.start("--engine", "memory", "--port", "0")) {
            assertEquals("", put(server, "1").body());
            assertEquals("", get(server, "b").body());
        }
    }

    @Test
    void valueAboveTheLimitIsRefused() throws Exception {
        try (Jdk17Server server = Jdk17Server.start("--engine", "memory", "--port", "0", "--max-value-bytes", "10")) {
            assertEquals(201, put(server, "x".repeat(10)).statusCode());
            assertEquals(413, put(server, "x".repeat(11)).statusCode());
            assertEquals(413, put(server, "x".repeat(1_000_000)).statusCode());
            assertEquals(201, put(server, "").statusCode());
        }
    }

    @Test
    void bodiesInChunksAreTakenAndLimitedToo() throws Exception {
        try (Jdk17Server server = Jdk17Server.start("--engine", "memory", "--port", "0", "--max-value-bytes", "10")) {
            assertEquals(201, putInChunks(server, "0123456789").statusCode());
            assertEquals("0123456789", get(server, "a").body());
            assertEquals(413, putInChunks(server, "0123456789x").statusCode());
            assertEquals("0123456789", get(server, "a").body());
        }
    }

    private HttpResponse<String> putInChunks(Jdk17Server server, String value) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + "/v0/entity?id=a"))
                .PUT(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(value.getBytes(UTF_8)))).build(),
                BodyHandlers.ofString());
    }

    @Test
    void halfABodyIsNotStored() throws Exception {
        try (Jdk17Server server = Jdk17Server.start("--engine", "memory", "--port", "0");
                Socket socket = new Socket("127.0.0.1", server.port())) {
            String head = "PUT /v0/entity?id=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n";
            socket.getOutputStream().write((head + "01234").getBytes(UTF_8));
            socket.shutdownOutput();
            byte[] response = socket.getInputStream().readAllBytes();
            assertFalse(new String(response, UTF_8).contains("201"), new String(response, UTF_8));
            assertEquals(404, get(server, "a").statusCode());
        }
    }

    @Test
    void filesStayAfterTheServer() throws Exception {
        for (String value : new String[] {"1", "2"}) {
            try (Jdk17Server server = Jdk17Server.start("--data", folder.toString(), "--port", "0")) {
                assertEquals(201, put(server, value).statusCode());
            }
            assertEquals(value, Files.readString(folder.resolve("a")));
        }
    }

    @Test
    void wrongFlagsAreRefusedWithTheirName() {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class,
                () -> Jdk17Server.start("--engine", "files", "--port", "0"));
        assertTrue(refused.getMessage().contains("--data"), refused.getMessage());
        try (Jdk17Server first = Jdk17Server.start("--engine", "noop", "--port", "0")) {
            String port = Integer.toString(first.port());
            refused = assertThrows(IllegalArgumentException.class,
                    () -> Jdk17Server.start("--engine", "noop", "--port", port));
            assertTrue(refused.getMessage().contains(port), refused.getMessage());
        }
    }
}
