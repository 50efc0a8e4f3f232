package lab.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Responses are read whole in whatever pieces they come. */
class ResponseParserTest {

    private static final int[] STATUSES = {200, 201, 404, 500};

    /** A channel that gives a few bytes at each read. */
    private record Pieces(ByteBuffer bytes, List<Integer> sizes, int[] reads) implements ReadableByteChannel {

        Pieces(byte[] bytes, List<Integer> sizes) {
            this(ByteBuffer.wrap(bytes), sizes, new int[1]);
        }

        @Override
        public int read(ByteBuffer target) {
            if (!bytes.hasRemaining()) {
                return -1;
            }
            int count = Math.min(sizes.get(reads[0]++ % sizes.size()), Math.min(bytes.remaining(), target.remaining()));
            target.put(bytes.slice(bytes.position(), count));
            bytes.position(bytes.position() + count);
            return count;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // Holds nothing.
        }
    }

    @Property(tries = 200)
    void responsesAreReadInAnyPieces(
            @ForAll @Size(min = 1, max = 20) List<@IntRange(min = 0, max = 200_000) Integer> lengths,
            @ForAll @Size(min = 1, max = 10) List<@IntRange(min = 1, max = 70_000) Integer> pieces) throws IOException {
        StringBuilder text = new StringBuilder();
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < lengths.size(); i++) {
            String body = String.valueOf((char) ('a' + i)).repeat(lengths.get(i));
            int status = STATUSES[i % STATUSES.length];
            text.append("HTTP/1.1 ").append(status).append(" Any Words\r\nX-Other: 7\r\ncontent-LENGTH: ")
                    .append(body.length()).append("\r\nConnection: Keep-Alive\r\n\r\n").append(body);
            expected.add(status + body);
        }
        List<String> seen = new ArrayList<>();
        ResponseParser parser = new ResponseParser(
                (status, body) -> seen.add(status + new String(body, StandardCharsets.US_ASCII)));
        Pieces channel = new Pieces(text.toString().getBytes(StandardCharsets.US_ASCII), pieces);
        while (parser.readFrom(channel) >= 0) {
            // On to the next piece.
        }
        assertEquals(expected, seen);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SSH-2.0-Open\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"})
    void nonsenseIsRefused(String text) {
        ResponseParser parser = new ResponseParser((status, body) -> {
            throw new AssertionError("took nonsense for a response");
        });
        Pieces channel = new Pieces(text.getBytes(StandardCharsets.US_ASCII), List.of(1_000));
        assertThrows(IOException.class, () -> parser.readFrom(channel));
    }

    @ParameterizedTest
    @ValueSource(ints = {64 * 1024, 70_000})
    void headWithoutAnEndIsRefused(int length) {
        ResponseParser parser = new ResponseParser((status, body) -> {
            throw new AssertionError("took nonsense for a response");
        });
        Pieces channel = new Pieces("x".repeat(length).getBytes(StandardCharsets.US_ASCII), List.of(length));
        assertThrows(IOException.class, () -> {
            while (parser.readFrom(channel) >= 0) {
                // Until it is too much.
            }
        });
    }
}
