//! The parser's outcome depends on the bytes alone, and no bytes make it panic.

use arbtest::arbitrary::{self, Unstructured};
use truepace::http::{MAX_HEAD_BYTES, ParseError, Parser, Response};

use crate::support::properties::{for_inputs, list};
use crate::support::responses::{Outcome, feed};

fn whole(bytes: &[u8], close: bool) -> Outcome {
    feed(std::iter::once(bytes), close)
}

fn ok(status: u16, keep_alive: bool) -> Result<Vec<Response>, ParseError> {
    Ok(vec![Response { status, keep_alive }])
}

#[test]
fn bodies_end_by_length_by_chunks_or_with_the_connection() {
    let (outcome, body) = whole(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false);
    assert_eq!((outcome, body.as_slice()), (ok(200, true), &b"hello"[..]));
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n";
    let (outcome, body) = whole(chunked, false);
    assert_eq!((outcome, body.as_slice()), (ok(200, true), &b"hello0123456789"[..]));
    let (outcome, body) = whole(b"HTTP/1.1 200 OK\r\n\r\nto the end", true);
    assert_eq!((outcome, body.as_slice()), (ok(200, false), &b"to the end"[..]));
}

#[test]
fn responses_without_a_body_are_complete_at_their_head() {
    for head in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
    ] {
        assert!(matches!(whole(head.as_bytes(), false).0, Ok(responses) if responses.len() == 1), "{head}");
    }
    let mut parser = Parser::new(false);
    parser.expect_response(true);
    assert!(parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n").unwrap().1.is_some());
}

#[test]
fn identity_is_no_coding() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding:";
    for coding in ["identity", " Identity ", "", "identity\r\nTransfer-Encoding: identity"] {
        let (outcome, body) = whole(format!("{head}{coding}\r\n\r\nhello").as_bytes(), false);
        assert_eq!((outcome, body.as_slice()), (ok(200, true), &b"hello"[..]), "{coding}");
    }
    for coding in ["identity, chunked", "chunked, identity", "chunked\r\nTransfer-Encoding: identity"] {
        let (outcome, body) = whole(format!("{head}{coding}\r\n\r\n2\r\nhe\r\n0\r\n\r\n").as_bytes(), false);
        assert_eq!((outcome, body.as_slice()), (ok(200, true), &b"he"[..]), "{coding}");
    }
    let (outcome, body) = whole(format!("{head}gzip, identity\r\n\r\nto the end").as_bytes(), true);
    assert_eq!((outcome, body.as_slice()), (ok(200, false), &b"to the end"[..]));
}

#[test]
fn blanks_before_a_colon_are_no_part_of_the_name() {
    for header in ["Content-Length : 5", "Content-Length\t: 5", "Content-Length  \t :5"] {
        let (outcome, body) = whole(format!("HTTP/1.1 200 OK\r\n{header}\r\nX : y\r\n\r\nhello").as_bytes(), false);
        assert_eq!((outcome, body.as_slice()), (ok(200, true), &b"hello"[..]), "{header}");
    }
    let mut parser = Parser::new(true);
    parser.expect_response(false);
    parser.feed(b"HTTP/1.1 200 OK\r\nX-Own : v\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(parser.headers()[0], ("X-Own".to_owned(), b"v".to_vec()));
    // Blanks within a name, or before the first one of a line, still make no header.
    for header in ["Content Length: 5", " Content-Length: 5"] {
        let (outcome, _) = whole(format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\nhello").as_bytes(), false);
        assert_eq!(outcome, Err(ParseError::BadHead), "{header}");
    }
}

#[test]
fn interim_responses_are_skipped() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!";
    assert_eq!(whole(bytes, false).0, ok(200, true));
}

#[test]
fn connection_header_and_version_decide_keep_alive() {
    assert_eq!(whole(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false).0, ok(200, false));
    assert_eq!(whole(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false).0, ok(200, false));
    assert_eq!(
        whole(b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", false).0,
        ok(200, true)
    );
}

#[test]
fn what_is_no_response_is_named() {
    for (bytes, error) in [
        (&b"SSH-2.0-OpenSSH\r\n"[..], ParseError::NotHttp),
        (b"HTTP/2.0 200\r\n\r\n", ParseError::NotHttp),
        (b"HTTP/1.1 abc\r\n\r\n", ParseError::BadHead),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello", ParseError::BadLength),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", ParseError::BadLength),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", ParseError::BadLength),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", ParseError::BadChunk),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", ParseError::BadChunk),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", ParseError::Unexpected),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", ParseError::Unexpected),
    ] {
        assert_eq!(whole(bytes, false).0, Err(error), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_head_has_a_limit_however_it_arrives() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    bytes.resize(MAX_HEAD_BYTES * 2, b'a');
    assert_eq!(whole(&bytes, false).0, Err(ParseError::HeadTooLarge));
    assert_eq!(feed(bytes.chunks(1000), false).0, Err(ParseError::HeadTooLarge));
}

#[test]
fn a_head_may_have_any_number_of_headers() {
    for count in [1, 127, 128, 129, 2000] {
        let many: String = (0..count).map(|index| format!("H{index}: v\r\n")).collect();
        let head = format!("HTTP/1.1 200 OK\r\n{many}Content-Length: 2\r\n\r\nok");
        let (outcome, body) = whole(head.as_bytes(), false);
        assert_eq!((outcome, body.as_slice()), (ok(200, true), &b"ok"[..]), "{count}");
    }
}

#[test]
fn a_header_may_go_over_several_lines() {
    let mut parser = Parser::new(true);
    parser.expect_response(false);
    let head = b"HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\n\tthree\r\nContent-Length:\r\n 2\r\n\r\nok";
    assert!(parser.feed(head).unwrap().1.is_some());
    assert_eq!(parser.headers()[0], ("X-Long".to_owned(), b"one two three".to_vec()));
    assert_eq!(parser.body(), b"ok");
}

#[test]
fn lengths_that_were_joined_are_one_if_they_are_alike() {
    for (value, length) in [("2, 2", Some(2)), ("2,2 ,\t2", Some(2)), ("2, 3", None), ("2,", None), (",", None)] {
        let (outcome, body) = whole(format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\nok").as_bytes(), false);
        match length {
            Some(length) => assert_eq!((outcome, body.len()), (ok(200, true), length), "{value}"),
            None => assert_eq!(outcome, Err(ParseError::BadLength), "{value}"),
        }
    }
}

#[test]
fn bodies_larger_than_any_buffer_are_counted() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_vec();
    bytes.resize(bytes.len() + 1_000_000, b'z');
    let (outcome, body) = feed(bytes.chunks(65_536), false);
    assert_eq!((outcome, body.len()), (ok(200, true), 1_000_000));
}

/// Pieces of real responses.
const FRAGMENTS: [&[u8]; 9] = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.0 404 Not Found\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\r\n",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"abc",
];

/// Bytes near real responses: fragments of them in any order, with some noise.
fn almost_http(source: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    let mut bytes = b"HTTP/1.1 200 OK\r\n".to_vec();
    for _ in 0..source.int_in_range(0..=7)? {
        match FRAGMENTS.get(source.int_in_range(0..=FRAGMENTS.len())?) {
            Some(fragment) => bytes.extend_from_slice(fragment),
            None => bytes.extend(list(source, 0..=7, Unstructured::arbitrary::<u8>)?),
        }
    }
    Ok(bytes)
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut start = 0;
    let mut pieces = Vec::new();
    for place in places {
        pieces.push(&bytes[start..place]);
        start = place;
    }
    pieces.push(&bytes[start..]);
    pieces
}

/// Cases of each property in a usual run, and with LAB_LONG=1.
fn cases() -> u64 {
    if std::env::var("LAB_LONG").as_deref() == Ok("1") { 2000 } else { 400 }
}

#[test]
fn any_cut_gives_the_same_outcome() {
    for_inputs(cases(), |source| {
        let bytes = almost_http(source)?;
        let cuts = list(source, 0..=9, Unstructured::arbitrary)?;
        let close = source.arbitrary()?;
        let expected = whole(&bytes, close).0;
        let actual = feed(pieces(&bytes, &cuts).into_iter(), close).0;
        assert_eq!(actual, expected);
        Ok(())
    });
}

#[test]
fn byte_by_byte_gives_the_same_outcome() {
    for_inputs(cases(), |source| {
        let (bytes, close) = (almost_http(source)?, source.arbitrary()?);
        assert_eq!(feed(bytes.chunks(1), close).0, whole(&bytes, close).0);
        Ok(())
    });
}

#[test]
fn no_bytes_make_it_panic() {
    for_inputs(cases(), |source| {
        let bytes = list(source, 0..=299, Unstructured::arbitrary)?;
        let close = source.arbitrary()?;
        let _ = whole(&bytes, close);
        let mut started = b"HTTP/1.1 200 OK\r\n".to_vec();
        started.extend(&bytes);
        let _ = feed(started.chunks(3), close);
        Ok(())
    });
}
