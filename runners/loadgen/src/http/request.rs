//! The requests in a text that a script gives: how many it holds, one after the other (pipelined), and of which kind.
//!
//! Every text is divided by its framing alone (RFC 9112 section 6), which costs little. Whether names and values of
//! headers are valid is looked at once ([`check`]), since the texts of one script are alike in that.

use super::USUAL_HEADERS;
use super::body::{Body, Chunk};
use super::header::defect;
use memchr::memchr;

/// What a response depends on in its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestKind {
    /// Only headers are asked for: the response has no body.
    pub head: bool,
}

/// Where a head and its body end.
struct Extent {
    head: usize,
    end: usize,
    /// No header says how long the body is.
    undeclared: bool,
}

/// Divides a text into its requests.
///
/// # Errors
/// Why the text does not consist of whole requests; the sentence goes on from the words "request()".
#[inline]
pub fn divide(text: &[u8], kinds: &mut Vec<RequestKind>) -> Result<(), String> {
    kinds.clear();
    for_each_request(text, |request, _| {
        kinds.push(RequestKind { head: request.starts_with(b"HEAD ") });
        Ok(())
    })
}

/// Checks the request line and every header of each request in a text.
///
/// # Errors
/// As [`divide`], with the header and its line in the text.
pub fn check(text: &[u8]) -> Result<(), String> {
    let mut first_line = 1;
    for_each_request(text, |request, head| {
        check_head(&request[..head], first_line)?;
        first_line += request.iter().filter(|byte| **byte == b'\n').count();
        Ok(())
    })
}

/// Calls `visit` with every request and the length of its head in bytes.
#[inline]
fn for_each_request(text: &[u8], mut visit: impl FnMut(&[u8], usize) -> Result<(), String>) -> Result<(), String> {
    let mut rest = text;
    loop {
        let Extent { head, end, undeclared } = extent(rest)?;
        visit(&rest[..end], head)?;
        let after = &rest[end..];
        // Empty lines after a request without a body are no body: servers skip them (RFC 9112 section 2.2).
        let blank = if undeclared { blank_lines(after) } else { 0 };
        if blank == after.len() {
            return Ok(());
        }
        if !begins_request(&after[blank..]) {
            let (body, declared) = (rest.len() - head, end - head);
            return Err(format!(
                "gave a body of {body} bytes under Content-Length {declared}; wrk.format sets it right"
            ));
        }
        rest = &after[blank..];
    }
}

fn blank_lines(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

fn begins_request(text: &[u8]) -> bool {
    is_request_line(&text[..memchr(b'\n', text).unwrap_or(text.len())])
}

#[inline]
fn is_request_line(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0")
}

/// Finds the ends of the first request.
#[inline]
fn extent(text: &[u8]) -> Result<Extent, String> {
    let (mut head, mut length, mut chunked) = (0, None, false);
    loop {
        let Some(line_bytes) = memchr(b'\n', &text[head..]) else {
            return Err("gave no whole request: the empty line after the headers is missing".into());
        };
        let line = &text[head..head + line_bytes];
        if head == 0 && !is_request_line(line) {
            return Err(format!("gave no HTTP request: '{}' is no request line", line.trim_ascii().escape_ascii()));
        }
        head += line_bytes + 1;
        match line.first() {
            None | Some(b'\r') => break,
            Some(b'c' | b'C') => {
                if let Some(value) = value_of(line, b"content-length") {
                    length = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                }
            }
            Some(b't' | b'T') => chunked |= value_of(line, b"transfer-encoding").is_some(),
            _ => {}
        }
    }
    let body = &text[head..];
    let end = if chunked {
        let (taken, complete) = Body::Chunked(Chunk::START)
            .take(body, |_| {})
            .map_err(|_| "gave a malformed chunk under Transfer-Encoding".to_owned())?;
        if !complete {
            return Err("gave no whole body under Transfer-Encoding: its last chunk is missing".into());
        }
        taken
    } else {
        let declared: usize = length.unwrap_or(0);
        if declared > body.len() {
            let given = body.len();
            return Err(format!(
                "gave a body of {given} bytes under Content-Length {declared}; wrk.format sets it right"
            ));
        }
        declared
    };
    Ok(Extent { head, end: head + end, undeclared: length.is_none() && !chunked })
}

/// The value of the header in a line, if it is the one named.
#[inline]
fn value_of<'a>(line: &'a [u8], lower_name: &[u8]) -> Option<&'a [u8]> {
    let (name, value) = line.split_at_checked(lower_name.len())?;
    (name.eq_ignore_ascii_case(lower_name) && value.first() == Some(&b':')).then(|| value[1..].trim_ascii())
}

fn check_head(head: &[u8], first_line: usize) -> Result<(), String> {
    let count = USUAL_HEADERS.max(memchr::memchr_iter(b'\n', head).count());
    let mut slots = vec![httparse::EMPTY_HEADER; count];
    let mut request = httparse::Request::new(&mut slots);
    let Err(error) = request.parse(head) else {
        return check_target(request.method.unwrap_or_default(), request.path.unwrap_or_default());
    };
    let lines = head.split(|byte| *byte == b'\n').enumerate().skip(1);
    let first_defect = lines.into_iter().find_map(|(index, line)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        defect(line).filter(|_| !line.is_empty()).map(|why| (first_line + index, why))
    });
    Err(match first_defect {
        Some((line, why)) => format!("gave a header that servers refuse, in line {line} of its text: {why}"),
        None => format!("gave no HTTP request: {error}"),
    })
}

/// A target is a path, a whole URL for a proxy, `*`, or after CONNECT a host with its port (RFC 9112 section 3.2).
fn check_target(method: &str, target: &str) -> Result<(), String> {
    let is_url =
        target.split_once("://").is_some_and(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphabetic()));
    if target.starts_with(['/', '*']) || is_url || method == "CONNECT" {
        return Ok(());
    }
    Err(format!("gave the path '{}', which servers refuse: it must begin with '/'", target.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(text: &str) -> Result<Vec<bool>, String> {
        let mut kinds = vec![RequestKind { head: true }; 9];
        divide(text.as_bytes(), &mut kinds)?;
        check(text.as_bytes())?;
        Ok(kinds.iter().map(|kind| kind.head).collect())
    }

    const GET: &str = "GET /a HTTP/1.1\r\nHost: it\r\n\r\n";
    const HEAD: &str = "HEAD /b HTTP/1.1\r\nHost: it\r\n\r\n";
    const PUT: &str = "PUT /c HTTP/1.1\r\ncontent-LENGTH:  3 \r\nContent-Type: x\r\n\r\na\nb";
    const POST: &str = "POST /d HTTP/1.0\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n";

    #[test]
    fn one_request_is_one() {
        for (text, head) in [(GET, false), (HEAD, true), (PUT, false), (POST, false)] {
            assert_eq!(heads(text), Ok(vec![head]), "{text}");
        }
        assert_eq!(heads(&format!("{GET}\r\n\r\n")), Ok(vec![false]), "empty lines are skipped by servers");
        assert_eq!(heads("GET / HTTP/1.1\r\nTransfer: x\r\nContent-Lengthy: 4\r\n\r\n"), Ok(vec![false]));
    }

    #[test]
    fn several_requests_are_counted_in_order() {
        assert_eq!(heads(&[GET, HEAD, GET].concat()), Ok(vec![false, true, false]));
        assert_eq!(heads(&[PUT, POST, HEAD, PUT].concat()), Ok(vec![false, false, true, false]));
        assert_eq!(heads(&[GET, "\r\n", HEAD].concat()), Ok(vec![false, true]));
        // A body that looks like a request is a body.
        let inner = format!("PUT / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{GET}", GET.len());
        assert_eq!(heads(&inner), Ok(vec![false]));
    }

    #[test]
    fn what_is_no_row_of_whole_requests_is_refused_with_the_cause() {
        for (text, part) in [
            ("", "no whole request"),
            ("GET /", "no whole request"),
            ("GET / HTTP/1.1\r\nHost: it\r\n", "the empty line after the headers is missing"),
            ("GET /\r\n\r\n", "'GET /' is no request line"),
            ("PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab", "a body of 2 bytes under Content-Length 9"),
            ("PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabc\r\n", "a body of 5 bytes under Content-Length 2"),
            ("GET / HTTP/1.1\r\n\r\nabc", "a body of 3 bytes under Content-Length 0"),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "its last chunk is missing"),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nabc", "its last chunk is missing"),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx", "malformed chunk"),
        ] {
            for before in ["", GET] {
                let outcome = heads(&[before, text].concat());
                if before.is_empty() || !text.is_empty() {
                    let refused = outcome.expect_err(text);
                    let surplus = refused.contains("bytes under Content-Length 0");
                    assert!(refused.contains(part) || (!before.is_empty() && surplus), "{text}: {refused}");
                }
            }
        }
    }

    #[test]
    fn a_target_that_is_no_path_is_refused() {
        for line in ["GET 5", "GET items/5", "GET ?a=b", "PUT localhost:80/a", "GET 1://a/"] {
            let refused = heads(&format!("{line} HTTP/1.1\r\nHost: it\r\n\r\n")).expect_err(line);
            assert!(refused.contains(&line[4..]) && refused.contains("begin with '/'"), "{line}: {refused}");
        }
        for line in ["GET /5", "GET /a?b=c://d", "OPTIONS *", "GET http://it:80/a", "GET https://it", "CONNECT it:443"]
        {
            assert_eq!(heads(&format!("{line} HTTP/1.1\r\nHost: it\r\n\r\n")), Ok(vec![false]), "{line}");
        }
    }

    #[test]
    fn a_header_that_servers_refuse_is_named_with_its_line() {
        for (header, parts) in [
            ("X-Bell: a\u{7}b", ["'X-Bell'", "0x07"]),
            ("X Blank: a", ["'X Blank'", "name"]),
            ("X-Space : a", ["'X-Space '", "name"]),
            ("no colon", ["'no colon'", "colon"]),
        ] {
            let request = format!("GET / HTTP/1.1\r\nHost: it\r\n{header}\r\n\r\n");
            for (before, line) in [("", "line 3 "), (GET, "line 6 ")] {
                let refused = heads(&format!("{before}{request}")).expect_err(header);
                for part in parts.iter().copied().chain([line]) {
                    assert!(refused.contains(part), "'{part}' is missing in: {refused}");
                }
            }
        }
        assert_eq!(heads("GET / HTTP/1.1\r\nX-Text: t\u{e4}b\tx\r\n\r\n"), Ok(vec![false]));
        assert!(heads("GE\u{1}T / HTTP/1.1\r\n\r\n").unwrap_err().contains("no HTTP request"));
    }
}
