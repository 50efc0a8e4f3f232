//! Failures by cause: how many, when the first of each, and what it looked like.

use std::io;

/// As much of a bad response is shown, in bytes.
const SHOWN_BYTES: usize = 64;

/// Why a request or a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Nobody listens.
    Refused,
    /// The connection was not made within the time-out.
    ConnectTimeout,
    /// The connection could not be made for another reason, the TLS handshake included.
    Connect,
    /// The server reset the connection.
    Reset,
    /// The server closed the connection before the response was complete.
    ClosedEarly,
    /// The request could not be read for another reason.
    Read,
    /// The request could not be written.
    Write,
    /// The bytes received are no HTTP/1.1 response.
    BadResponse,
    /// Bytes followed the end of a response.
    Surplus,
    /// No response came within the time-out.
    Timeout,
}

/// Causes, in the order of the report.
const CAUSES: [Cause; 10] = [
    Cause::Refused,
    Cause::ConnectTimeout,
    Cause::Connect,
    Cause::Reset,
    Cause::ClosedEarly,
    Cause::Read,
    Cause::Write,
    Cause::BadResponse,
    Cause::Surplus,
    Cause::Timeout,
];

impl Cause {
    /// The cause of a connection that could not be made.
    pub fn of_connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Cause::Refused,
            io::ErrorKind::TimedOut => Cause::ConnectTimeout,
            _ => Cause::Connect,
        }
    }

    /// The cause of a read that failed.
    pub fn of_read(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::ConnectionReset { Cause::Reset } else { Cause::Read }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Refused => "connection refused",
            Cause::ConnectTimeout => "connect time-out",
            Cause::Connect => "connect failed",
            Cause::Reset => "connection reset",
            Cause::ClosedEarly => "closed before the response was complete",
            Cause::Read => "read failed",
            Cause::Write => "write failed",
            Cause::BadResponse => "no HTTP/1.1 response",
            Cause::Surplus => "bytes after the end of a response",
            Cause::Timeout => "no response within the time-out",
        }
    }

    /// wrk's count that it is part of, as in the field `errors`.
    pub fn counted_as(self) -> &'static str {
        match self {
            Cause::Refused | Cause::ConnectTimeout | Cause::Connect => "connect",
            Cause::Reset | Cause::ClosedEarly | Cause::Read => "read",
            Cause::Write => "write",
            Cause::BadResponse | Cause::Surplus => "parse",
            Cause::Timeout => "timeout",
        }
    }
}

/// What a failure looked like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The system's words, or the bytes that came; empty where the cause says all.
    pub text: String,
    /// The protocol that bytes which are no HTTP/1.1 look like, if that is known.
    pub protocol: Option<&'static str>,
}

impl<T: ToString> From<T> for Seen {
    fn from(words: T) -> Self {
        Seen { text: words.to_string(), protocol: None }
    }
}

/// All failures of one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// How many requests, or connects, it ended.
    pub count: u64,
    /// When the first came, in nanoseconds from the start of the window.
    pub first_ns: u64,
    /// What the first looked like.
    pub first: Seen,
}

/// Failures by cause.
#[derive(Debug, Clone, Default)]
pub struct Failures([Option<Box<Failure>>; CAUSES.len()]);

impl Failures {
    /// Counts failures; `describe` is asked for the first of a cause only.
    pub fn count(&mut self, cause: Cause, count: u64, at_ns: u64, describe: impl FnOnce() -> Seen) {
        let known = self.0[cause as usize]
            .get_or_insert_with(|| Box::new(Failure { count: 0, first_ns: at_ns, first: describe() }));
        known.count += count;
    }

    /// Adds those of another worker, or of another target.
    pub fn add(&mut self, other: &Failures) {
        for (sum, failure) in self.0.iter_mut().zip(&other.0) {
            match (sum, failure) {
                (Some(sum), Some(failure)) => {
                    let count = sum.count + failure.count;
                    if failure.first_ns < sum.first_ns {
                        sum.clone_from(failure);
                    }
                    sum.count = count;
                }
                (sum @ None, Some(failure)) => *sum = Some(failure.clone()),
                (_, None) => {}
            }
        }
    }

    /// The first of all in words: its cause, and what it looked like.
    pub fn first(&self) -> Option<String> {
        let (cause, failure) = self.iter().min_by_key(|(_, failure)| failure.first_ns)?;
        let seen = if failure.first.text.is_empty() { String::new() } else { format!(": {}", failure.first.text) };
        Some(format!("{}{seen}", cause.name()))
    }

    /// Causes that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, &Failure)> {
        CAUSES.into_iter().zip(&self.0).filter_map(|(cause, failure)| Some((cause, failure.as_deref()?)))
    }
}

/// Bytes that are no HTTP/1.1 response: what protocol they look like, if that is known, and the first of them as text.
pub fn shown(bytes: &[u8]) -> Seen {
    let text = bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii();
    let more = if bytes.len() > SHOWN_BYTES { "..." } else { "" };
    let protocol = protocol(bytes);
    let looks = protocol.map_or(String::new(), |name| format!("it looks like {name}: "));
    Seen { text: format!("{looks}\"{text}\"{more}"), protocol }
}

/// The protocol that some first bytes are of.
fn protocol(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        // A frame header of RFC 9113: three bytes of length, then SETTINGS or GOAWAY on stream 0.
        [0, _, _, 4 | 7, _, 0, 0, 0, 0, ..] | [b'H', b'T', b'T', b'P', b'/', b'2', ..] => Some("HTTP/2"),
        // A record header of RFC 8446: alert or handshake, and the version.
        [0x15 | 0x16, 3, 0..=4, ..] => Some("TLS (https)"),
        [b'S', b'S', b'H', b'-', ..] => Some("SSH"),
        [b'2', b'2', b'0', b' ' | b'-', ..] => Some("SMTP or FTP"),
        [b'-' | b'+', b'E' | b'O' | b'P', ..] => Some("Redis"),
        [b'H', b'T', b'T', b'P', b'/', ..] => None,
        [b'<', ..] => Some("HTTP/0.9 or a bare document"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_add_up_and_the_first_of_all_is_kept() {
        let (mut sum, mut other) = (Failures::default(), Failures::default());
        sum.count(Cause::Reset, 1, 500, || "later".into());
        other.count(Cause::Reset, 2, 100, || "earlier".into());
        other.count(Cause::Reset, 1, 50, || panic!("described once"));
        other.count(Cause::Timeout, 1, 900, Seen::default);
        sum.add(&other);
        let all: Vec<_> = sum.iter().map(|(cause, seen)| (cause, seen.count, seen.first.text.as_str())).collect();
        assert_eq!(all, [(Cause::Reset, 4, "earlier"), (Cause::Timeout, 1, "")]);
        assert!(CAUSES.iter().enumerate().all(|(index, cause)| *cause as usize == index));
    }

    #[test]
    fn protocols_are_recognised_by_their_first_bytes() {
        assert_eq!(
            shown(b"\0\0\x12\x04\0\0\0\0\0rest").text,
            r#"it looks like HTTP/2: "\x00\x00\x12\x04\x00\x00\x00\x00\x00rest""#
        );
        assert_eq!(shown(b"\x15\x03\x01\0\x02\x02F").text, r#"it looks like TLS (https): "\x15\x03\x01\x00\x02\x02F""#);
        assert_eq!(shown(b"SSH-2.0-OpenSSH_9\r\n").text, r#"it looks like SSH: "SSH-2.0-OpenSSH_9\r\n""#);
        assert_eq!(shown(b"HTTP/1.1 two").text, r#""HTTP/1.1 two""#);
        assert!(shown(&[b'x'; 1000]).text.len() < 80);
        assert_eq!([shown(b"SSH-2.0").protocol, shown(b"it looks like SSH: ").protocol], [Some("SSH"), None]);
    }
}
