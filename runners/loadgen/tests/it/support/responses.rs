//! What the HTTP parser must hold for any bytes, and responses as real servers give them to start from.

use truepace::http::{ParseError, Parser, Response};

/// Responses of real servers and proxies, and the odd ones that a parser must know.
pub const CORPUS: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n",
    b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-type: application/json\r\nContent-length: 11\r\n\r\n{\"ok\":true}",
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nTrailer: X-Sum\r\n\r\n3;name=\"v;w\"\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nuntil the end",
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 204 No Content\r\nX-Empty:\r\nX-Blank:   \r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 120\r\n\r\n",
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy",
    b"HTTP/1.1 302 Found\r\nLocation: http://x/y?z=\xC3\xA4\r\nSet-Cookie: a=b; Path=/\r\nSet-Cookie: c=d\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 \nContent-Length: 1\n\n!",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
];

/// All responses, or why the bytes are none; then the body of the last.
pub type Outcome = (Result<Vec<Response>, ParseError>, Vec<u8>);

/// Feeds pieces; after every complete response the next one is expected. Bytes after a response count as an error here, in
/// whichever piece they come.
pub fn feed<'a>(pieces: impl Iterator<Item = &'a [u8]>, close: bool) -> Outcome {
    let mut parser = Parser::new(true);
    parser.expect_response(false);
    let mut responses = Vec::new();
    for piece in pieces {
        match parser.feed(piece) {
            Ok((taken, Some(response))) if response.keep_alive && taken < piece.len() => {
                return (Err(ParseError::Unexpected), Vec::new());
            }
            Ok((_, Some(response))) => responses.push(response),
            Ok((_, None)) => {}
            Err(error) => return (Err(error), Vec::new()),
        }
    }
    if close {
        responses.extend(parser.closed());
    }
    (Ok(responses), parser.body().to_vec())
}

/// The properties: no bytes make it panic; the outcome does not depend on how the network cuts them; a body is never
/// longer than what came; a status is one that a response can have.
///
/// # Panics
/// When one does not hold; that is the finding.
pub fn check(bytes: &[u8], cut: usize) {
    for close in [false, true] {
        let whole = feed(std::iter::once(bytes), close);
        let (front, rest) = bytes.split_at(cut % (bytes.len() + 1));
        assert_eq!(
            feed([front, rest].into_iter(), close).0,
            whole.0,
            "cut at {}: {}",
            front.len(),
            bytes.escape_ascii()
        );
        assert_eq!(feed(bytes.chunks(1), close).0, whole.0, "byte by byte: {}", bytes.escape_ascii());
        assert!(whole.1.len() <= bytes.len(), "{}", bytes.escape_ascii());
        for response in whole.0.iter().flatten() {
            assert!((200..1000).contains(&response.status), "{response:?}: {}", bytes.escape_ascii());
        }
    }
}
