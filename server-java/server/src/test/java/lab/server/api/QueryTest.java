package lab.server.api;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class QueryTest {

    @Property(tries = 500)
    void anyBytesComeBackFromTheirEscapes(@ForAll byte[] bytes) {
        StringBuilder escaped = new StringBuilder("/v0/entity?id=");
        for (byte b : bytes) {
            escaped.append(String.format("%%%02x", b & 0xff));
        }
        assertArrayEquals(bytes, Query.bytes(escaped.toString(), "id"));
    }

    @Property(tries = 500)
    void textsComeBackFromTheJdksEncoding(@ForAll String text) {
        String sent = new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
        assertArrayEquals(sent.getBytes(StandardCharsets.UTF_8),
                Query.bytes("/x?a=1&id=" + URLEncoder.encode(sent, StandardCharsets.UTF_8) + "&b=2", "id"));
    }

    @Test
    void firstOfEqualNamesCounts() {
        assertArrayEquals(new byte[] {'1'}, Query.bytes("/x?id=1&id=2", "id"));
        assertNull(Query.bytes("/x?idea=1&xid=2&id", "id"));
        assertEquals(7, Query.number("/x?from=7", "from", 1));
        assertEquals(1, Query.number("/x", "from", 1));
    }

    @Test
    void pathEndsAtTheQuestionMark() {
        assertTrue(Query.hasPath("/v0/entity", "/v0/entity"));
        assertTrue(Query.hasPath("/v0/entity?id=1", "/v0/entity"));
        assertFalse(Query.hasPath("/v0/entityx", "/v0/entity"));
        assertFalse(Query.hasPath("/v0/entit", "/v0/entity"));
    }
}
