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

/** What the published servers did in each request changes no response, but for the object that all requests share. */
class AsPublishedTest {

    private static final int RESPONSES = 50;
    private static final byte[] VALUE = "value".repeat(500).getBytes(StandardCharsets.UTF_8);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(AsPublished.class)
    void responsesAreTheSame(AsPublished variant) throws Exception {
        try (TestServer server = TestServer.start("lsm", folder, "--as-published", variant.toString());
                RawClient client = new RawClient(server.port())) {
            assertEquals(404, client.ask("GET", "/v0/entity?id=%C3%A4").status());
            assertEquals(201, client.ask("PUT", "/v0/entity?id=%C3%A4", VALUE).status());
            RawClient.Response response = client.ask("GET", "/v0/entity?id=%C3%A4");
            assertEquals(200, response.status());
            assertArrayEquals(VALUE, response.body());
            assertEquals("Keep-Alive", response.fields().get("connection"));
            assertEquals(202, client.ask("DELETE", "/v0/entity?id=%C3%A4").status());
            assertEquals(404, client.ask("GET", "/v0/entity?id=%C3%A4").status());
            assertTrue(server.readyLine().contains("\"as_published\":\"" + variant + '"'));
        }
    }

    @Test
    void aSharedResponseGrowsByOneFieldWithEachUse() throws Exception {
        try (TestServer server = TestServer.start("memory", folder, "--as-published", "shared-response");
                RawClient client = new RawClient(server.port())) {
            int first = headBytes(client);
            int last = 0;
            for (int i = 0; i < RESPONSES; i++) {
                last = headBytes(client);
            }
            assertEquals(RESPONSES * "Connection: Keep-Alive\r\n".length(), last - first);
        }
    }

    @ParameterizedTest
    @EnumSource(value = AsPublished.class, names = "SHARED_RESPONSE", mode = EnumSource.Mode.EXCLUDE)
    void noOtherResponseGrows(AsPublished variant) throws Exception {
        try (TestServer server = TestServer.start("memory", folder, "--as-published", variant.toString());
                RawClient client = new RawClient(server.port())) {
            int first = headBytes(client);
            for (int i = 0; i < RESPONSES; i++) {
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
