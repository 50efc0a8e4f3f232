package lab.server.api;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Chars;
import net.jqwik.api.constraints.NumericChars;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class QueryTest {

    @Property(tries = 2_000)
    void bytesComeBackFromTheirEscapesIfTheyAreUtf8(@ForAll @Size(max = 6) byte[] bytes) {
        StringBuilder escaped = new StringBuilder("/v0/entity?id=");
        for (byte b : bytes) {
            escaped.append(String.format("%%%02x", b & 0xff));
        }
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
            assertArrayEquals(bytes, Query.bytes(escaped.toString(), "id"));
        } catch (CharacterCodingException e) {
            assertThrows(BadRequestException.class, () -> Query.bytes(escaped.toString(), "id"));
        }
    }

    @Property(tries = 500)
    void textsComeBackRaw(@ForAll @NumericChars @Chars({'\u00e4', '\u20ac', '\uffff'}) String text) {
        byte[] sent = text.getBytes(StandardCharsets.UTF_8);
        String target = "/x?id=" + new String(sent, StandardCharsets.ISO_8859_1) + "&b=2";
        assertArrayEquals(sent, Query.bytes(target, "id"));
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
