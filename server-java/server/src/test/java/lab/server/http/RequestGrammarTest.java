package lab.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lab.storage.conformance.Length;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.PropertyDefaults;

/**
 * What is read of a request, however it is damaged and in whatever pieces it comes, is what the grammar of RFC 9112 says of
 * it, here written down once more as regular expressions; where the grammar has nothing to say, nothing is read.
 */
@PropertyDefaults(tries = 1)
class RequestGrammarTest {

    private static final int REQUESTS = Length.of(20_000, 1_000_000);
    private static final int LIMIT_BYTES = 1_000;
    private static final Limits LIMITS = new Limits(LIMIT_BYTES, 100_000, 0, 0, 0, null);
    private static final String TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
    private static final String TEXT = "[\\t\\x20-\\x7e\\x80-\\xff]*";
    private static final Pattern HEAD = Pattern.compile("(?:\\r\\n)*" + TOKEN + " ([\\x21-\\x7e\\x80-\\xff]+) HTTP/1\\.([0-9])\\r\\n"
            + "((?:" + TOKEN + ":" + TEXT + "\\r\\n)*)\\r\\n");
    private static final Pattern SIZE = Pattern.compile("([0-9a-fA-F]{1,15})(?:;" + TEXT + ")?\\r\\n");
    private static final Pattern TRAILER = Pattern.compile("(?:" + TOKEN + ":" + TEXT + "\\r\\n)*\\r\\n");
    private static final List<String> FIELDS = List.of("Host: test", "host:[::1]:80", "Content-Length: 12",
            "content-length:\t0 ", "Transfer-Encoding: chunked", "transfer-encoding:CHUNKED", "Connection: keep-alive, close",
            "Connection: keep-alive", "Connection: Close", "X: a\tb", "Accept: */*", "Content-Type: text/plain; charset=utf-8");
    private static final String DAMAGE = "\0\t\n\r\r\n\u000b\u000c ,:;+-_019afgx/@\"\u007f\u0080\u00a0\u00ff";

    /** What was read: a head, or the body behind it; null if it was refused or did not come to an end. */
    private record Read(String target, long contentLength, boolean chunked, boolean keepAlive) {
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String damaged(String text, Random random) {
        StringBuilder damaged = new StringBuilder(text);
        for (int times = random.nextInt(4); times > 0; times--) {
            int at = random.nextInt(damaged.length());
            char c = DAMAGE.charAt(random.nextInt(DAMAGE.length()));
            switch (random.nextInt(4)) {
                case 0 -> damaged.insert(at, c);
                case 1 -> damaged.setCharAt(at, c);
                case 2 -> damaged.deleteCharAt(at);
                default -> damaged.insert(at, damaged.substring(at, Math.min(damaged.length(), at + random.nextInt(20))));
            }
        }
        return damaged.append("\r\n\r\n").toString();
    }

    private static String head(Random random) {
        StringBuilder head = new StringBuilder(random.nextInt(20) == 0 ? "\r\n" : "");
        head.append(random.nextBoolean() ? "GET" : "PUT").append(" /v0/entity?id=a HTTP/1.").append(random.nextInt(5) == 0 ? 0 : 1)
                .append("\r\nHost: test\r\n".substring(0, random.nextInt(8) == 0 ? 2 : 14));
        for (int fields = random.nextInt(3); fields > 0; fields--) {
            head.append(FIELDS.get(random.nextInt(FIELDS.size()))).append("\r\n");
        }
        return head.append("\r\n").toString();
    }

    /** By the grammar. */
    private static Read expected(String text) {
        Matcher head = HEAD.matcher(text);
        if (!head.lookingAt()) {
            return null;
        }
        boolean http11 = !head.group(2).equals("0");
        List<String> hosts = new ArrayList<>();
        List<String> lengths = new ArrayList<>();
        List<String> codings = new ArrayList<>();
        List<String> connection = new ArrayList<>();
        for (String line : head.group(3).split("\r\n")) {
            int colon = line.indexOf(':');
            String name = line.substring(0, Math.max(colon, 0)).toLowerCase(java.util.Locale.ROOT);
            String value = line.substring(colon + 1).replaceAll("^[\\t ]+|[\\t ]+$", "");
            switch (name) {
                case "host" -> hosts.add(value);
                case "content-length" -> lengths.add(value);
                case "transfer-encoding" -> codings.add(value);
                case "connection" -> Pattern.compile(TOKEN).matcher(value.toLowerCase(java.util.Locale.ROOT)).results()
                        .forEach(token -> connection.add(token.group()));
                default -> {
                    // Of no importance.
                }
            }
        }
        boolean chunked = codings.size() == 1 && codings.getFirst().equalsIgnoreCase("chunked");
        boolean understood = hosts.size() <= 1 && (!http11 || hosts.size() == 1)
                && hosts.stream().allMatch(host -> host.matches("[A-Za-z0-9._~!$&'()*+,;=%:\\[\\]-]*"))
                && lengths.size() <= 1 && lengths.stream().allMatch(length -> length.matches("[0-9]+"))
                && (codings.isEmpty() || chunked && http11 && lengths.isEmpty());
        return understood ? new Read(head.group(1), lengths.isEmpty() ? -1 : Long.parseLong(lengths.getFirst()), chunked,
                !connection.contains("close") && (http11 || connection.contains("keep-alive"))) : null;
    }

    private static Read read(String text, Random random) {
        byte[] bytes = bytes(text);
        HeadParser parser = new HeadParser(LIMITS);
        int at = 0;
        for (int end = 0; end < bytes.length; ) {
            end = random.nextInt(3) == 0 ? bytes.length : Math.min(bytes.length, end + 1 + random.nextInt(20));
            byte[] there = Arrays.copyOf(bytes, end);
            for (int next = at; next >= 0 && at < end; ) {
                next = parser.take(there, at, end, Integer.MAX_VALUE);
                at = Math.max(at, next);
                ReceivedRequest request = parser.poll();
                if (request != null) {
                    return request.rejection() != null ? null : new Read(request.target(), request.contentLength,
                            request.chunked, request.keepAlive());
                }
            }
        }
        return null;
    }

    @Property
    void headIsReadAsTheGrammarSays(@ForAll Random random) {
        int understood = 0;
        for (int i = 0; i < REQUESTS; i++) {
            String text = damaged(head(random), random);
            Read expected = expected(text);
            assertEquals(expected, read(text, random), text);
            understood += expected == null ? 0 : 1;
        }
        assertEquals(0.5, (double) understood / REQUESTS, 0.4, "both kinds are tested");
    }

    private static String chunks(Random random) {
        StringBuilder body = new StringBuilder();
        for (int chunks = random.nextInt(4); chunks > 0; chunks--) {
            int size = 1 + random.nextInt(20);
            body.append(random.nextBoolean() ? "0" : "").append(Integer.toHexString(size)).append(random.nextInt(4) == 0
                    ? ";a=\"b\"" : "").append("\r\n").append("x".repeat(size)).append("\r\n");
        }
        return body.append("0\r\n").append(random.nextInt(4) == 0 ? "Name: value\r\n" : "").append("\r\n").toString();
    }

    /** By the grammar; null if there is none. */
    private static String expectedBody(String text) {
        StringBuilder body = new StringBuilder();
        for (int at = 0; ; ) {
            Matcher size = SIZE.matcher(text).region(at, text.length());
            if (!size.lookingAt()) {
                return null;
            }
            long length = Long.parseLong(size.group(1), 16);
            if (length == 0) {
                return TRAILER.matcher(text).region(size.end(), text.length()).lookingAt() ? body.toString() : null;
            }
            if (length > LIMIT_BYTES - body.length() || !text.startsWith("\r\n", size.end() + (int) length)) {
                return null;
            }
            at = size.end() + (int) length + 2;
            body.append(text, size.end(), at - 2);
        }
    }

    private static String readBody(String text, Random random) {
        byte[] bytes = bytes(text);
        ChunkedBody body = new ChunkedBody(LIMIT_BYTES, LIMIT_BYTES);
        for (int at = 0; at < bytes.length; ) {
            int end = Math.min(bytes.length, at + 1 + random.nextInt(20));
            at = body.take(bytes, at, end);
            if (body.isMalformed() || body.isTooLarge()) {
                return null;
            } else if (body.isComplete()) {
                return new String(body.bytes(), StandardCharsets.ISO_8859_1);
            }
        }
        return null;
    }

    @Property
    void chunksAreReadAsTheGrammarSays(@ForAll Random random) {
        int understood = 0;
        for (int i = 0; i < REQUESTS; i++) {
            String text = damaged(chunks(random), random);
            String expected = expectedBody(text);
            assertEquals(expected, readBody(text, random), text);
            understood += expected == null ? 0 : 1;
        }
        assertEquals(0.5, (double) understood / REQUESTS, 0.4, "both kinds are tested");
    }
}
