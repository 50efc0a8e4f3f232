//! The URL: where to connect and what to ask for.

use crate::error::{Error, Result};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The scheme of a server on a Unix socket, whose path stands in the host's place: `http+unix://%2Frun%2Fapp.sock/path`.
const UNIX: &str = "http+unix";

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A port of a host.
    Inet(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Peer {
    /// Connects once, to see whether a server listens there.
    ///
    /// # Errors
    /// The system's own.
    pub fn listens(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Peer::Inet(address) => TcpStream::connect_timeout(address, timeout).map(drop),
            Peer::Unix(path) => UnixStream::connect(path).map(drop),
        }
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Inet(address) => address.fmt(out),
            Peer::Unix(path) => path.display().fmt(out),
        }
    }
}

/// A checked URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As given.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// Name or address; an IPv6 address without its brackets.
    pub host: String,
    /// Port as written in the URL, if it is.
    pub port: Option<u16>,
    /// Path and query, from the slash on.
    pub path: String,
    /// The value of the `Authorization` header that the URL's user and password make (RFC 7617).
    pub authorization: Option<String>,
    /// The Unix socket to connect to in place of host and port; the host is then `localhost`.
    pub socket: Option<PathBuf>,
}

impl Target {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// [`Error::Usage`] that says which part is wrong.
    pub fn parse(url: &str) -> Result<Self> {
        let wrong =
            |why: &str| Error::Usage(format!("the URL '{url}' {why}; write for example http://127.0.0.1:8080/path"));
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("has no scheme"))?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" && scheme != UNIX {
            return Err(wrong("does not start with http://, https:// or http+unix://"));
        }
        if url.bytes().any(|byte| byte <= b' ' || byte == 0x7F) {
            return Err(wrong("holds a blank or a control character"));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let tail = tail.split('#').next().unwrap_or("");
        let path = if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") };
        if scheme == UNIX {
            let socket = decoded(authority)
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .filter(|socket| !socket.is_empty())
                .map(PathBuf::from)
                .ok_or_else(|| wrong("names no socket, such as http+unix://%2Frun%2Fapp.sock/path"))?;
            let (scheme, host) = ("http".to_owned(), "localhost".to_owned());
            let (url, socket) = (url.to_owned(), Some(socket));
            return Ok(Target { url, scheme, host, port: None, path, authorization: None, socket });
        }
        let (credentials, address) =
            authority.rsplit_once('@').map_or((None, authority), |(user, address)| (Some(user), address));
        let authorization = match credentials {
            Some(text) => Some(basic(text).ok_or_else(|| wrong("has a user or password with a wrong '%'"))?),
            None => None,
        };
        let (host, port) = match address.strip_prefix('[').map(|inner| inner.split_once(']')) {
            Some(Some((host, after))) => (host, after.strip_prefix(':')),
            Some(None) => return Err(wrong("has no ']' after its IPv6 address")),
            None => address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(wrong("names no host"));
        }
        let port = match port {
            Some(digits) => Some(
                digits
                    .parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(|| wrong("has a port that is not 1 to 65535"))?,
            ),
            None => None,
        };
        let (url, host) = (url.to_owned(), host.to_owned());
        Ok(Target { url, scheme, host, port, path, authorization, socket: None })
    }

    /// The port to connect to.
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(if self.is_tls() { 443 } else { 80 })
    }

    /// Whether the scheme is https.
    pub fn is_tls(&self) -> bool {
        self.scheme == "https"
    }

    /// Everywhere it may be connected to: the socket, or every address of the host.
    ///
    /// # Errors
    /// As [`Target::resolve`].
    pub fn peers(&self) -> Result<Vec<Peer>> {
        match &self.socket {
            Some(socket) => Ok(vec![Peer::Unix(socket.clone())]),
            None => Ok(self.resolve()?.into_iter().map(Peer::Inet).collect()),
        }
    }

    /// Every address of the host, in the system's order.
    ///
    /// # Errors
    /// [`Error::CouldNotRun`] when the name has no address.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>> {
        let failed =
            |why: String| Error::CouldNotRun(format!("the host {} has no address: {why}; check the URL", self.host));
        let addresses: Vec<_> = (self.host.as_str(), self.port_or_default())
            .to_socket_addrs()
            .map_err(|error| failed(error.to_string()))?
            .collect();
        if addresses.is_empty() { Err(failed("the name resolves to nothing".into())) } else { Ok(addresses) }
    }
}

/// Decodes percent-encoding (RFC 3986 section 2.1); `None` where a `%` begins no encoded byte.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|byte| *byte != 0)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}

/// The value of an `Authorization` header by user and password, which are separated by a colon.
fn basic(credentials: &str) -> Option<String> {
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let pair = [decoded(user)?, b":".to_vec(), decoded(password)?].concat();
    Some(format!("Basic {}", base64(&pair)))
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize] as char;
            text.push(if place <= group.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> (String, Option<u16>, String) {
        let target = Target::parse(url).unwrap();
        (target.host, target.port, target.path)
    }

    #[test]
    fn urls_are_taken_apart() {
        assert_eq!(parts("http://localhost"), ("localhost".into(), None, "/".into()));
        assert_eq!(
            parts("HTTP://127.0.0.1:8080/v0/entity?id=1#top"),
            ("127.0.0.1".into(), Some(8080), "/v0/entity?id=1".into())
        );
        assert_eq!(parts("http://[::1]:90?x"), ("::1".into(), Some(90), "/?x".into()));
    }

    #[test]
    fn user_and_password_are_basic_credentials() {
        let of = |url: &str| Target::parse(url).unwrap().authorization;
        // The example of RFC 7617 section 2.
        assert_eq!(of("http://Aladdin:open%20sesame@h/").as_deref(), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(of("http://me@h:80/").as_deref(), Some("Basic bWU6"));
        assert_eq!(of("http://u:p%40x@h/").as_deref(), Some("Basic dTpwQHg="));
        assert_eq!(of("http://h/a@b"), None);
        assert_eq!(parts("http://u:p@h:81/x"), ("h".into(), Some(81), "/x".into()));
    }

    #[test]
    fn a_unix_socket_stands_in_the_hosts_place() {
        let target = Target::parse("http+unix://%2Frun%2Fa%20b.sock/x?y=1").unwrap();
        assert_eq!(target.peers().unwrap(), [Peer::Unix("/run/a b.sock".into())]);
        assert_eq!(
            (target.scheme.as_str(), target.host.as_str(), target.path.as_str()),
            ("http", "localhost", "/x?y=1")
        );
    }

    #[test]
    fn wrong_urls_are_refused() {
        for url in [
            "localhost:80",
            "http://",
            "http://:80/",
            "http://h:0/",
            "http://h:99999/",
            "http://h:x/",
            "http://[::1/",
            "ftp://h/",
            "http://h/a b",
            "http://u:%2@h/",
            "http+unix:///x",
            "http+unix://%2/x",
            "http+unix://a%00b/x",
            "https+unix://%2Fa/x",
        ] {
            assert!(matches!(Target::parse(url), Err(Error::Usage(_))), "{url}");
        }
    }
}
