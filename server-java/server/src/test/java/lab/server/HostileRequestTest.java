package lab.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import lab.storage.conformance.Length;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Requests that two readers could understand differently, with every front and execution mode: each is refused, the
 * connection ends, and neither its body nor what follows it is executed as a request. Sections are those of RFC 9112; some
 * are from the lists of what the parsers llhttp and netty let pass only if configured to be lenient.
 */
@ParameterizedClass
@MethodSource("lab.server.Mode#onMemory")
class HostileRequestTest {

    /** What an attacker hides in a body, or behind a request that is refused. */
    private static final String HIDDEN = "PUT /v0/entity?id=hidden HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\nx";
    private static final int BYTES = HIDDEN.length();
    private static final String LENGTH = "Content-Length: " + BYTES + "\r\n";
    private static final String HOST = "Host: test\r\n";
    private static final List<Integer> REFUSED = List.of(400, 501);

    private final Mode mode;

    @TempDir
    private Path folder;
    private TestServer server;

    HostileRequestTest(Mode mode) {
        this.mode = mode;
    }

    @BeforeEach
    void start() {
        server = TestServer.start("memory", folder, mode.flags());
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String seen(String request) {
        return request.replace("\r", "\\r").replace("\n", "\\n").replace("\0", "\\0").replace("\u000b", "\\v");
    }

    private int status(String method, String target) throws Exception {
        try (RawClient client = new RawClient(server.port())) {
            return client.ask(method, target).status();
        }
    }

    private void assertRefused(String request) throws Exception {
        try (RawClient client = new RawClient(server.port())) {
            client.sendIfOpen(bytes(request + HIDDEN));
            RawClient.Response response = client.read();
            assertTrue(REFUSED.contains(response.status()), () -> response.status() + " to " + seen(request));
            assertEquals("close", response.fields().get("connection"), seen(request));
            assertTrue(client.isEnded(), () -> "the connection goes on after " + seen(request));
        }
        assertEquals(404, status("GET", "/v0/entity?id=hidden"), () -> "executed what is behind " + seen(request));
        assertEquals(404, status("GET", "/v0/entity?id=a"), () -> "executed " + seen(request));
    }

    /** A PUT with these lines behind the field Host. */
    private static String put(String fields) {
        return "PUT /v0/entity?id=a HTTP/1.1\r\n" + HOST + fields + "\r\n";
    }

    private static String chunked(String body) {
        return put("Transfer-Encoding: chunked\r\n") + body;
    }

    @Test
    void lengthThatIsNoNumberOrNotTheOnlyOneIsRefused() throws Exception {
        for (String value : List.of("", "+" + BYTES, "-1", "-0", "0x1", "1 1", "1,1", BYTES + ", " + BYTES, "1;", "1.0", "1e1",
                "\"1\"", "\u000b1", "1\u000b", "\0", "1\0", "\u00a01", "\u0661", "one")) {
            assertRefused(put("Content-Length: " + value + "\r\n"));
        }
        assertRefused(put(LENGTH + LENGTH));
        assertRefused(put(LENGTH + "Content-Length: 1\r\n"));
        assertRefused(put("Content-Length: 0\r\n" + LENGTH));
        assertRefused(put(LENGTH + "content-length: 0\r\n"));
    }

    @Test
    void codingOtherThanChunkedAloneIsRefused() throws Exception {
        for (String value : List.of("", "gzip", "identity", "gzip, chunked", "chunked, gzip", "chunked, chunked", "chunked,",
                ",chunked", "chunked;a=b", "\"chunked\"", "x chunked", "chunked x", "chunk", "chunkedd", "\u000bchunked",
                "chunked\u000b", "\0chunked", "\u00a0chunked", "chunked\u007f", "\u000cchunked", "gzip\u000bchunked")) {
            assertRefused(put("Transfer-Encoding: " + value + "\r\n"));
            assertRefused(put("Transfer-Encoding:" + value + "\r\n" + LENGTH));
        }
        assertRefused(put("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"));
        assertRefused(put("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"));
        assertRefused(put("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"));
        assertRefused(put("Transfer-Encoding: chunked\r\nTransfer-Encoding: \r\n"));
        assertRefused(put("Transfer-Encoding: chunked\r\n" + LENGTH));
        assertRefused(put(LENGTH + "Transfer-Encoding: chunked\r\n"));
        assertRefused(put("Transfer-Encoding: chunked\r\n").replace("1.1", "1.0"));
    }

    @Test
    void nameOfAFieldThatIsNoneIsRefused() throws Exception {
        for (String name : List.of("Content-Length ", "Content-Length\t", " Content-Length", "\tContent-Length",
                "Content\rLength", "Content Length", "Content-Length\u000b", "\u000bContent-Length", "Content-Length\0", "",
                " ", "\u00c4", "Content(Length", "Content/Length", "Content[Length", "\u007f", "Content\"Length")) {
            assertRefused(put(name + ": " + BYTES + "\r\n"));
        }
        for (String name : List.of("Transfer-Encoding ", "Transfer-Encoding\t", " Transfer-Encoding", "Transfer\rEncoding")) {
            assertRefused(put(name + ": chunked\r\n"));
        }
        assertRefused(put("Content-Length\r\n"));
        assertRefused(put("Content-Length " + BYTES + "\r\n"));
        assertRefused("PUT /v0/entity?id=a HTTP/1.1\r\n " + HOST + LENGTH + "\r\n");
    }

    @Test
    void fieldOnSeveralLinesIsRefused() throws Exception {
        for (String fields : List.of("X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "Content-Length:\r\n " + BYTES + "\r\n",
                "X: a\r\n " + LENGTH, "X:\r\n \r\n " + LENGTH, "Transfer-Encoding:\r\n chunked\r\n", "X: a\r\n \r\n")) {
            assertRefused(put(fields));
        }
    }

    @Test
    void lineThatDoesNotEndWithBothIsRefused() throws Exception {
        for (String fields : List.of("X: a\n", "X: a\n" + LENGTH, "X: a\r" + LENGTH, "X: a\r\r\n" + LENGTH, "X: a\r\n\n",
                "\n", "X: a\n\r\n", "\r" + LENGTH, "X: \r\r\n")) {
            assertRefused(put(fields));
        }
        assertRefused(put(LENGTH).replace("\r\n", "\n"));
        assertRefused(put(LENGTH).replace("\r\n", "\r"));
        assertRefused(put(LENGTH).replaceFirst("\r\n", "\n"));
        assertRefused("\n" + put(""));
        assertRefused("\r\n\n" + put(""));
    }

    @Test
    void controlCharacterInAValueIsRefused() throws Exception {
        for (String value : List.of("a\0b", "\u0001", "a\u001fb", "a\u007f", "\u000b", "\u000c", "a\bb", "\u001b[0m")) {
            assertRefused(put("X: " + value + "\r\n"));
        }
    }

    @Test
    void hostThatIsAbsentDoubleOrNoneIsRefused() throws Exception {
        assertRefused("PUT /v0/entity?id=a HTTP/1.1\r\n" + LENGTH + "\r\n");
        assertRefused(put(HOST + LENGTH));
        assertRefused(put("host: other\r\n" + LENGTH));
        assertRefused("PUT /v0/entity?id=a HTTP/1.0\r\n" + HOST + HOST + LENGTH + "\r\n");
        for (String host : List.of("a b", "a/b", "user@test", "test?x", "test#x", "a\\b", "<test>", "\u00e4", "a, b", "a{}")) {
            assertRefused(put(LENGTH).replace("Host: test", "Host: " + host));
        }
        assertRefused(put(LENGTH).replace("Host:", "Host :"));
        assertRefused(put(LENGTH).replace("/v0", "http:///v0"));
        assertRefused(put(LENGTH).replace("/v0", "http://user@test/v0"));
    }

    @Test
    void firstLineThatIsNoneIsRefused() throws Exception {
        for (String line : List.of("PUT /v0/entity?id=a", "PUT /v0/entity?id=a ", "PUT  /v0/entity?id=a HTTP/1.1",
                "PUT /v0/entity?id=a  HTTP/1.1", "PUT /v0/entity?id=a HTTP/1.1 ", " PUT /v0/entity?id=a HTTP/1.1",
                "PUT\t/v0/entity?id=a HTTP/1.1", "PUT /v0/entity?id=a\tHTTP/1.1", "PUT /v0/entity?id=a b HTTP/1.1",
                "PUT /v0/entity?id=a\0 HTTP/1.1", "PUT /v0/entity?id=\ra HTTP/1.1", "PUT /v0/entity?id=a\u007f HTTP/1.1",
                "PUT /v0/entity?id=a\u000bHTTP/1.1", "PUT /v0/entity?id=a\u000c HTTP/1.1", "PUT  HTTP/1.1", "PUT HTTP/1.1",
                "PU(T /v0/entity?id=a HTTP/1.1", "PUT\0 /v0/entity?id=a HTTP/1.1", "P\u00dcT /v0/entity?id=a HTTP/1.1",
                "\"PUT\" /v0/entity?id=a HTTP/1.1", "PUT: /v0/entity?id=a HTTP/1.1", "\u0016\u0003\u0001\u0002")) {
            assertRefused(line + "\r\n" + HOST + LENGTH + "\r\n");
        }
        for (String version : List.of("HTTP/1.X", "HTTP/1.", "HTTP/1", "HTTP/.1", "HTTP/11", "HTTP/1.10", "HTTP/01.1",
                "HTTP/1.-1", "HTTP/+1.1", "HTTP/1,1", "HTTP/0.9", "HTTP/2.0", "HTTP/3", "HTTP /1.1", "HTTP/ 1.1", "http/1.1",
                "HTTPS/1.1", "HTTP/1.1,", "HTTP/1.1\u000b", "HTTP/1.1\0", "HTTP/1.1 HTTP/1.1", "ICY/1.1", "HTTP\\1.1",
                "HTTP/1.\u0661")) {
            assertRefused(put(LENGTH).replace("HTTP/1.1", version));
        }
    }

    @Test
    void chunksThatAreNoneAreRefused() throws Exception {
        for (String body : List.of("\r\n", "3 \r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n",
                "-3\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "3h\r\nabc\r\n0\r\n\r\n", "g\r\n", "3\0\r\nabc\r\n",
                "3\nabc\r\n0\r\n\r\n", "3\rabc\r\n0\r\n\r\n", "3\r\r\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n",
                "3\r\nabc\r0\r\n\r\n", "3\r\nabc0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc\r\n\r\n0\r\n\r\n",
                "3;a\nb\r\nabc\r\n0\r\n\r\n", "3;a\rb\r\nabc\r\n0\r\n\r\n", "3;a\0\r\nabc\r\n0\r\n\r\n",
                "3;\n\r\nabc\r\n0\r\n\r\n", "3 ;a\r\nabc\r\n0\r\n\r\n", "3,a\r\nabc\r\n0\r\n\r\n", ";a\r\nabc\r\n",
                "100000000000000000000000000000003\r\nabc\r\n0\r\n\r\n", "10000000000000003\r\nabc\r\n0\r\n\r\n",
                "fffffffffffffffff\r\n", "-0\r\n\r\n", "0\n\n", "0\r\n\n", "0\r\r\n\r\n", "00x\r\n\r\n",
                "0\r\nX: a\nY: b\r\n\r\n", "0\r\nX : a\r\n\r\n", "0\r\n X: a\r\n\r\n", "0\r\nX\r\n\r\n", "0\r\nX: a\rY\r\n\r\n",
                "0\r\n: a\r\n\r\n", "0\r\nX: a\0\r\n\r\n", "0\r\nX: a\r\n b\r\n\r\n", "3\u000b\r\nabc\r\n0\r\n\r\n",
                "3;a=\"\u007f\"\r\nabc\r\n0\r\n\r\n", "\u00b3\r\nabc\r\n0\r\n\r\n")) {
            assertRefused(chunked(body));
        }
        assertRefused(chunked("3;" + "a".repeat(1 << 18) + "\r\nabc\r\n0\r\n\r\n"));
        assertRefused(chunked("0\r\nX: " + "a".repeat(1 << 18) + "\r\n\r\n"));
    }

    @Test
    void closeCountsWhereverItStandsAndNothingBehindItIsExecuted() throws Exception {
        for (String fields : List.of("Connection: close\r\n", "Connection: keep-alive, close\r\n",
                "Connection: close, keep-alive\r\n", "Connection: Keep-Alive,Close\r\n", "Connection: x , CLOSE ,y\r\n",
                "Connection: ,,close\r\n", "Connection: close\r\nConnection: keep-alive\r\n",
                "Connection: keep-alive\r\nConnection: close\r\n", "connection:\tclose\t\r\n")) {
            try (RawClient client = new RawClient(server.port())) {
                client.send(bytes("GET /v0/entity?id=a HTTP/1.1\r\n" + HOST + fields + "\r\n" + HIDDEN));
                RawClient.Response response = client.read();
                assertEquals(404, response.status(), fields);
                assertEquals("close", response.fields().get("connection"), fields);
                assertTrue(client.isEnded(), fields);
            }
            assertEquals(404, status("GET", "/v0/entity?id=hidden"), fields);
        }
        for (String fields : List.of("Connection: closed\r\n", "Connection: not-close\r\n", "Connection: keep-alive\r\n",
                "Connection: \r\n", "X-Connection: close\r\n", "Connection: close-notify, upgrade\r\n")) {
            assertServed("GET /v0/entity?id=a HTTP/1.1\r\n" + HOST + fields + "\r\n", 404);
        }
    }

    /** A request gets a status, and the one behind it gets its own. */
    private RawClient.Response assertServed(String request, int status) throws Exception {
        try (RawClient client = new RawClient(server.port())) {
            client.send(bytes(request + "GET /v0/entity?id=none HTTP/1.1\r\n" + HOST + "\r\n"));
            RawClient.Response response = request.startsWith("HEAD") ? client.readToHead() : client.read();
            assertEquals(status, response.status(), () -> seen(request) + " got " + response.text());
            assertEquals(404, client.read().status(), () -> "behind " + seen(request));
            return response;
        }
    }

    private void assertStored(String request, String value) throws Exception {
        assertServed(request, 201);
        try (RawClient client = new RawClient(server.port())) {
            assertEquals(value, client.ask("GET", "/v0/entity?id=a").text(), seen(request));
            assertEquals(202, client.ask("DELETE", "/v0/entity?id=a").status());
        }
    }

    @Test
    void whatIsAllowedIsTaken() throws Exception {
        for (String fields : List.of("Content-Length: 3\r\n", "content-LENGTH:3\r\n", "Content-Length: \t 3 \t\r\n",
                "Content-Length: 003\r\n", "Content-Length: 3\r\nX:\r\n", "X-\u007e!#$%&'*+.^_`|: \u00e4\u00ff\t\"\r\n"
                + "Content-Length: 3\r\n", "Content-Length: 3\r\nX-Content-Length: 9\r\nContent-Lengths: 9\r\n"
                + "Content_Length: 9\r\n")) {
            assertStored(put(fields) + "abc", "abc");
        }
        assertStored("\r\n\r\n" + put("Content-Length: 3\r\n") + "abc", "abc");
        for (String body : List.of("3\r\nabc\r\n0\r\n\r\n", "1\r\na\r\n002\r\nbc\r\n00\r\n\r\n",
                "3;name\r\nabc\r\n0;last=\"x;y\"\r\n\r\n", "3;a=b;c\tx \r\nabc\r\n0\r\n\r\n",
                "3\r\nabc\r\n0\r\nTrailer: x\r\nOther:\r\n\r\n", "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\nContent-Length: 9\r\n\r\n")) {
            assertStored(chunked(body), "abc");
            assertStored(put("transfer-encoding: \tChunKed \r\n") + body, "abc");
        }
        assertStored("PUT /v0/entity?id=a HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Length: 3\r\n\r\nabc", "abc");
        assertStored("PUT /v0/entity?id=a HTTP/1.1\r\nHost:\r\nContent-Length: 3\r\n\r\nabc", "abc");
        assertServed("GET /v0/entity?id=none HTTP/1.9\r\n" + HOST + "\r\n", 404);
        assertServed("GET /v0/entity?id=none HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n", 404);
        assertServed("GET /v0/entity?id=none HTTP/1.1\r\n" + HOST + "Content-Length: 3\r\n\r\nabc", 404);
    }

    @Test
    void targetMayNameTheServerToo() throws Exception {
        assertStored(put("Content-Length: 3\r\n").replace("/v0", "http://test/v0") + "abc", "abc");
        assertStored(put("Content-Length: 3\r\n").replace("/v0", "HTTP://Test:8080/v0").replace("HTTP:/", "http:/") + "abc",
                "abc");
        assertStored(put("Content-Length: 3\r\n").replace("/v0", "http://[::1]:80/v0") + "abc", "abc");
        assertServed("GET http://test/v0/status HTTP/1.1\r\n" + HOST + "\r\n", 200);
        for (String target : List.of("http://test", "http://test?id=a", "http://test/", "https:", "test:80", "v0/status", "?",
                "ftp://test/v0/status", "http://test/http://test/v0/status")) {
            assertServed("GET " + target + " HTTP/1.1\r\n" + HOST + "\r\n", 400);
        }
    }

    @Test
    void requestAboutTheWholeServerSaysWhatItKnows() throws Exception {
        assertEquals("GET, HEAD, PUT, DELETE",
                assertServed("OPTIONS * HTTP/1.1\r\n" + HOST + "\r\n", 405).fields().get("allow"));
        assertServed("GET * HTTP/1.1\r\n" + HOST + "\r\n", 400);
        assertServed("OPTIONS *? HTTP/1.1\r\n" + HOST + "\r\n", 400);
        assertServed("CONNECT test:80 HTTP/1.1\r\n" + HOST + "\r\n", 400);
        assertServed("get /v0/entity?id=a HTTP/1.1\r\n" + HOST + "\r\n", 405);
    }

    /** Fronts read keys, executions do not: in the short form one of these has every byte, the others the ends alone. */
    @Test
    void everyByteByItselfIsItsOwnKeyOrNone() throws Exception {
        int step = Length.LONG || mode.execution().equals("pool") ? 1 : 0xff - 0x80;
        assertServed("PUT /v0/entity?id=neighbour HTTP/1.1\r\n" + HOST + "Content-Length: 1\r\n\r\nx", 201);
        for (int b = 0x80; b <= 0xff; b += step) {
            String raw = Character.toString(b);
            for (String id : List.of(raw, "%" + Integer.toHexString(b), "neighbour" + raw, raw + "neighbour")) {
                for (String parameters : List.of("", "&ack=1", "&ack=9")) {
                    assertServed("PUT /v0/entity?id=" + id + parameters + " HTTP/1.1\r\n" + HOST
                            + "Content-Length: 1\r\n\r\ny", 400);
                }
                assertServed("GET /v0/entity?id=" + id + " HTTP/1.1\r\n" + HOST + "\r\n", 400);
                assertServed("GET /v0/entities?start=" + id + " HTTP/1.1\r\n" + HOST + "\r\n", 400);
            }
        }
        assertEquals("neighbourx", assertServed("GET /v0/entities?start=%00 HTTP/1.1\r\n" + HOST + "\r\n", 200).text()
                .replace("\n", ""));
    }

    /** A slow head costs a connection for a while and nobody else anything. */
    @Test
    void headThatTakesTooLongIsRefused() throws Exception {
        server.close();
        server = TestServer.start("memory", folder, mode.flags("--head-timeout-ms", "500"));
        try (RawClient idle = new RawClient(server.port()); RawClient slow = new RawClient(server.port());
                RawClient body = new RawClient(server.port())) {
            body.send(bytes(put("Content-Length: 3\r\n") + "a"));
            slow.send("GET /v0/entity?id=a HTTP/1.1\r\nHost: test\r\nX: ");
            while (!slow.hasInput()) {
                slow.sendIfOpen(bytes("a"));
                Thread.sleep(20);
            }
            RawClient.Response refused = slow.read();
            assertEquals(408, refused.status());
            assertTrue(refused.text().contains("--head-timeout-ms"), refused.text());
            assertTrue(slow.isEnded());
            // Neither silence before a head nor a body is a slow head.
            assertEquals(404, idle.ask("GET", "/v0/entity?id=a").status());
            idle.send("GET /v0/entity?id=a HTTP/1.1\r\n" + HOST + "\r\nGET /v0/ent");
            assertEquals(404, idle.read().status());
            assertEquals(408, idle.read().status());
            body.send(bytes("bc"));
            assertEquals(201, body.read().status());
        }
    }
}
