//! One response after the other on one connection.

use super::body::{Body, Chunk};
use super::{MAX_HEAD_BYTES, USUAL_HEADERS};
use std::fmt;

/// Every HTTP/1 response starts so; anything else is refused at the first wrong byte.
const PREFIX: &[u8] = b"HTTP/1.";

/// What a complete response says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Status code, 200 to 999 (interim 1xx responses are skipped).
    pub status: u16,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
}

/// Why bytes are not an HTTP/1.1 response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// The first bytes are not `HTTP/1.`.
    NotHttp,
    /// No end of the head within the limit.
    HeadTooLarge,
    /// The status line or a header is malformed.
    BadHead,
    /// `Content-Length` is no number, or two of them differ.
    BadLength,
    /// A chunk-size line or a chunk's end is malformed.
    BadChunk,
    /// Bytes came when no response was due.
    Unexpected,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseError::NotHttp => "the response does not start with HTTP/1.",
            ParseError::HeadTooLarge => "the head of the response is longer than 80 KiB",
            ParseError::BadHead => "the status line or a header is malformed",
            ParseError::BadLength => "Content-Length is not one number",
            ParseError::BadChunk => "a chunk is malformed",
            ParseError::Unexpected => "bytes came when no response was due",
        })
    }
}

#[derive(Debug)]
enum State {
    Idle,
    Head,
    Body(Body),
    /// The connection's last response is complete; what else comes is of no interest.
    Finished,
}

/// Incremental reader of the responses of one connection.
#[derive(Debug)]
pub struct Parser {
    state: State,
    /// A head that has not come whole yet. Empty in the usual case, where it is read in place.
    head: Vec<u8>,
    response: Response,
    to_head_request: bool,
    capture: bool,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Parser {
    /// `capture` keeps headers and body for a script's `response()`; otherwise they are only counted.
    pub fn new(capture: bool) -> Self {
        Parser {
            state: State::Idle,
            head: Vec::new(),
            response: Response { status: 0, keep_alive: true },
            to_head_request: false,
            capture,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// A request was sent: a response is due. A response to HEAD has no body whatever its headers say.
    pub fn expect_response(&mut self, to_head_request: bool) {
        self.state = State::Head;
        self.to_head_request = to_head_request;
        self.head.clear();
        if self.capture {
            self.headers.clear();
            self.body.clear();
        }
    }

    /// Headers of the last response, in order; empty unless captured.
    pub fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.headers
    }

    /// Body of the last response; empty unless captured.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// What came so far of a head that is not whole.
    pub fn unfinished_head(&self) -> &[u8] {
        &self.head
    }

    /// Takes bytes up to the end of one response. Returns how many, and the response once it is complete: what follows
    /// is the next one's, for a pipelined request.
    ///
    /// # Errors
    /// When the bytes are no response, or none was due: then the connection cannot be used any more.
    pub fn feed(&mut self, data: &[u8]) -> Result<(usize, Option<Response>), ParseError> {
        let mut rest = data;
        loop {
            match &mut self.state {
                State::Finished => return Ok((data.len(), None)),
                State::Idle => {
                    return if rest.is_empty() { Ok((data.len(), None)) } else { Err(ParseError::Unexpected) };
                }
                State::Head => {
                    let Some(taken) = self.take_head(rest)? else { return Ok((data.len(), None)) };
                    rest = &rest[taken..];
                }
                State::Body(body) => {
                    let (capture, kept) = (self.capture, &mut self.body);
                    let (taken, complete) = body.take(rest, |content| {
                        if capture {
                            kept.extend_from_slice(content);
                        }
                    })?;
                    rest = &rest[taken..];
                    if !complete {
                        return Ok((data.len(), None));
                    }
                    self.state = State::Idle;
                }
            }
            if matches!(self.state, State::Idle) {
                if !self.response.keep_alive {
                    self.state = State::Finished;
                }
                return Ok((data.len() - rest.len(), Some(self.response)));
            }
        }
    }

    /// The server closed the connection. Returns the response if that was its proper end.
    pub fn closed(&mut self) -> Option<Response> {
        let complete = matches!(self.state, State::Body(Body::UntilClose));
        self.state = State::Idle;
        complete.then_some(Response { keep_alive: false, ..self.response })
    }

    /// Looks for the end of the head in what came so far. Returns how much of `data` belongs to the head.
    fn take_head(&mut self, data: &[u8]) -> Result<Option<usize>, ParseError> {
        if self.head.is_empty() {
            check_prefix(data)?;
            return match head_end(data, 0) {
                Some(end) if end <= MAX_HEAD_BYTES => self.read_head(&data[..end]).map(|()| Some(end)),
                None if data.len() <= MAX_HEAD_BYTES => {
                    self.head.extend_from_slice(data);
                    Ok(None)
                }
                _ => Err(ParseError::HeadTooLarge),
            };
        }
        let before = self.head.len();
        // Two more bytes than the limit are enough to know that no end lies within it.
        let added = data.len().min(MAX_HEAD_BYTES + 2 - before);
        self.head.extend_from_slice(&data[..added]);
        check_prefix(&self.head)?;
        match head_end(&self.head, before.saturating_sub(2)) {
            Some(end) if end <= MAX_HEAD_BYTES => {
                let head = std::mem::take(&mut self.head);
                let outcome = self.read_head(&head[..end]);
                self.head = head;
                self.head.clear();
                outcome.map(|()| Some(end - before))
            }
            None if self.head.len() <= MAX_HEAD_BYTES => Ok(None),
            _ => Err(ParseError::HeadTooLarge),
        }
    }

    fn read_head(&mut self, head: &[u8]) -> Result<(), ParseError> {
        let mut slots = [httparse::EMPTY_HEADER; USUAL_HEADERS];
        let mut response = httparse::Response::new(&mut slots);
        // Blanks before a colon are no part of the name, and a line that begins with one goes on with the value before.
        // A server must refuse such requests, but who receives such a response reads it so (RFC 9112 sections 5.1, 5.2).
        let mut config = httparse::ParserConfig::default();
        config.allow_spaces_after_header_name_in_responses(true);
        config.allow_obsolete_multiline_headers_in_responses(true);
        let mut parsed = config.parse_response(&mut response, head);
        let mut more_slots = Vec::new();
        if parsed == Err(httparse::Error::TooManyHeaders) {
            more_slots.resize(memchr::memchr_iter(b'\n', head).count(), httparse::EMPTY_HEADER);
            response = httparse::Response::new(&mut more_slots);
            parsed = config.parse_response(&mut response, head);
        }
        if !matches!(parsed, Ok(httparse::Status::Complete(_))) {
            return Err(ParseError::BadHead);
        }
        let status = response.code.ok_or(ParseError::BadHead)?;
        let mut keep_alive = response.version == Some(1);
        let (mut length, mut chunked, mut other_coding) = (None, false, false);
        for header in response.headers.iter() {
            let value = header.value.trim_ascii();
            if header.name.eq_ignore_ascii_case("content-length") {
                let parsed = parse_length(value)?;
                if length.replace(parsed).is_some_and(|earlier| earlier != parsed) {
                    return Err(ParseError::BadLength);
                }
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                if let Some(coding) = last_coding(value) {
                    chunked = coding.eq_ignore_ascii_case(b"chunked");
                    other_coding = !chunked;
                }
            } else if header.name.eq_ignore_ascii_case("connection") {
                if has_token(value, b"close") {
                    keep_alive = false;
                } else if has_token(value, b"keep-alive") {
                    keep_alive = true;
                }
            }
        }
        if status < 200 {
            // 100 and 103 come before the response; nobody asked for 101, and after it the bytes are no HTTP.
            return if status == 101 { Err(ParseError::Unexpected) } else { Ok(()) };
        }
        if self.capture {
            let kept = response.headers.iter().map(|header| (header.name.to_owned(), unfolded(header.value)));
            self.headers.extend(kept);
        }
        self.response = Response { status, keep_alive };
        self.state = match () {
            () if self.to_head_request || status == 204 || status == 304 => State::Idle,
            () if chunked => State::Body(Body::Chunked(Chunk::START)),
            () if other_coding => State::Body(Body::UntilClose),
            () => match length {
                Some(0) => State::Idle,
                Some(bytes) => State::Body(Body::Length(bytes)),
                None => State::Body(Body::UntilClose),
            },
        };
        Ok(())
    }
}

fn check_prefix(head: &[u8]) -> Result<(), ParseError> {
    let known = head.len().min(PREFIX.len());
    if head[..known] == PREFIX[..known] { Ok(()) } else { Err(ParseError::NotHttp) }
}

/// Index just after the empty line that ends a head; lines end in LF or CR LF.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', &bytes[from..]).find_map(|line_end| {
        let after = from + line_end + 1;
        match bytes[after..] {
            [b'\n', ..] => Some(after + 1),
            [b'\r', b'\n', ..] => Some(after + 2),
            _ => None,
        }
    })
}

/// A value that goes over several lines, in one (RFC 9112 section 5.2).
fn unfolded(value: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    if lines.len() == 1 { value.to_vec() } else { lines.join(&b' ') }
}

/// A length, which intermediaries may have joined from several fields: then all must be alike (RFC 9110 section 8.6).
fn parse_length(value: &[u8]) -> Result<u64, ParseError> {
    let mut lengths = value.split(|byte| *byte == b',').map(|length| parse_digits(length.trim_ascii()));
    let first = lengths.next().ok_or(ParseError::BadLength)??;
    if lengths.all(|length| length == Ok(first)) { Ok(first) } else { Err(ParseError::BadLength) }
}

fn parse_digits(value: &[u8]) -> Result<u64, ParseError> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(ParseError::BadLength);
    }
    std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).ok_or(ParseError::BadLength)
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// The last coding of a `Transfer-Encoding`. Older servers name `identity`, which means that there is none.
fn last_coding(value: &[u8]) -> Option<&[u8]> {
    let codings = value.rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    codings.into_iter().find(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
}
