package lab.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import lab.server.api.AsPublished;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the published servers did in each request changes no answer, but for the object that all requests share. */
class AsPublishedTest {

    private static final int ANSWERS = 50;
    private static final byte[] VALUE = "value".repeat(500).getBytes(StandardCharsets.UTF_8);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(AsPublished.class)
    void answersAreTheSame(AsPublished way) throws Exception {
        try (TestServer server = TestServer.start("lsm", folder, "--as-published", way.toString());
                RawClient client = new RawClient(server.port())) {
            assertEquals(404, client.ask("GET", "/v0/entity?id=%C3%A4").status());
            assertEquals(201, client.ask("PUT", "/v0/entity?id=%C3%A4", VALUE).status());
            RawClient.Answer answer = client.ask("GET", "/v0/entity?id=%C3%A4");
            assertEquals(200, answer.status());
            assertArrayEquals(VALUE, answer.body());
            assertEquals("Keep-Alive", answer.fields().get("connection"));
            assertEquals(202, client.ask("DELETE", "/v0/entity?id=%C3%A4").status());
            assertEquals(404, client.ask("GET", "/v0/entity?id=%C3%A4").status());
            assertTrue(server.readyLine().contains("\"as_published\":\"" + way + '"'));
        }
    }

    @Test
    void aSharedResponseGrowsByOneFieldWithEachAnswer() throws Exception {
        try (TestServer server = TestServer.start("memory", folder, "--as-published", "shared-response");
                RawClient client = new RawClient(server.port())) {
            int first = headBytes(client);
            int last = 0;
            for (int i = 0; i < ANSWERS; i++) {
                last = headBytes(client);
            }
            assertEquals(ANSWERS * "Connection: Keep-Alive\r\n".length(), last - first);
        }
    }

    @ParameterizedTest
    @EnumSource(value = AsPublished.class, names = "SHARED_RESPONSE", mode = EnumSource.Mode.EXCLUDE)
    void noOtherAnswerGrows(AsPublished way) throws Exception {
        try (TestServer server = TestServer.start("memory", folder, "--as-published", way.toString());
                RawClient client = new RawClient(server.port())) {
            int first = headBytes(client);
            for (int i = 0; i < ANSWERS; i++) {
                assertEquals(first, headBytes(client));
            }
        }
    }

    @Test
    void whatCannotBeIsRefused() {
        assertThrows(IllegalArgumentException.class,
                () -> TestServer.start("memory", folder, "--front", "jdk", "--as-published", "shared-response"));
        assertThrows(IllegalArgumentException.class,
                () -> TestServer.start("memory", folder, "--nodes", "3", "--as-published", "string-keys"));
    }

    private static int headBytes(RawClient client) throws IOException {
        client.send("PUT /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
        return client.readHead().getBytes(StandardCharsets.ISO_8859_1).length;
    }
}
