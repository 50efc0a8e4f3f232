//! https: a layer over any other [`Io`] that encrypts what goes out and decrypts what comes in.
//!
//! As in wrk, nothing of a certificate is verified, so that any key and any version of X.509 will do: a load generator is
//! pointed at test servers, and what is measured is the same either way.

use super::{Event, Io, ReceiveClock};
use crate::error::{Error, Result};
use crate::target::Peer;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// [`Io`] over TLS.
pub struct Tls {
    inner: Box<dyn Io>,
    config: Arc<ClientConfig>,
    /// By connection; `None` is plain http.
    names: Vec<Option<ServerName<'static>>>,
    sessions: Vec<Option<Box<Session>>>,
    /// Connections whose session ended with the bytes of an event; reported as an event of the next wait.
    ended: Vec<usize>,
    /// The same of the last wait, and how many events of the inner layer come before them.
    closing: Vec<usize>,
    inner_events: usize,
    /// Decrypted bytes of the last event.
    plain: Vec<u8>,
    encrypted: Vec<u8>,
}

struct Session {
    tls: ClientConnection,
    /// The handshake is over, and [`Event::Connected`] was reported.
    established: bool,
    /// The server has said that nothing more will come.
    ended: bool,
}

impl Tls {
    /// A layer over `inner`. `hosts` has the host (name or address) of each connection; connections without one stay plain.
    ///
    /// # Errors
    /// When a host is no valid server name.
    pub fn new(inner: Box<dyn Io>, hosts: &[Option<String>]) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::CouldNotRun(format!("TLS cannot be set up: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        let names = hosts.iter().map(|host| {
            let Some(host) = host else { return Ok(None) };
            ServerName::try_from(host.clone()).map(Some).map_err(|error| {
                Error::CouldNotRun(format!("TLS with {host} cannot be set up: {error}; check the host of the URL"))
            })
        });
        let names = names.collect::<Result<Vec<_>>>()?;
        let mut sessions = Vec::new();
        sessions.resize_with(names.len(), || None);
        Ok(Tls {
            inner,
            config: Arc::new(config),
            names,
            sessions,
            ended: Vec::new(),
            closing: Vec::new(),
            inner_events: 0,
            plain: Vec::new(),
            encrypted: Vec::new(),
        })
    }

    /// Sends what the session has to send.
    fn flush(&mut self, connection: usize) -> io::Result<()> {
        let Some(session) = self.sessions[connection].as_deref_mut() else { return Ok(()) };
        self.encrypted.clear();
        while session.tls.wants_write() {
            session.tls.write_tls(&mut self.encrypted)?;
        }
        if self.encrypted.is_empty() { Ok(()) } else { self.inner.send(connection, &self.encrypted) }
    }

    /// Takes encrypted bytes. Returns whether the handshake ended with them.
    fn decrypt(&mut self, connection: usize) -> io::Result<bool> {
        let Some(session) = self.sessions[connection].as_deref_mut() else { return Ok(false) };
        let mut rest = self.encrypted.as_slice();
        while !rest.is_empty() {
            if session.tls.read_tls(&mut rest)? == 0 {
                // After its close_notify nothing that a server sends has a meaning (RFC 8446 section 6.1).
                break;
            }
            let state = session.tls.process_new_packets().map_err(|error| match self.encrypted.as_slice() {
                [b'H', b'T', b'T', b'P', b'/', ..] if !session.established => {
                    io::Error::other("no TLS here; use http://")
                }
                _ => io::Error::other(error),
            })?;
            session.ended = state.peer_has_closed();
            let before = self.plain.len();
            self.plain.resize(before + state.plaintext_bytes_to_read(), 0);
            session.tls.reader().read_exact(&mut self.plain[before..])?;
        }
        Ok(!session.tls.is_handshaking() && !std::mem::replace(&mut session.established, !session.tls.is_handshaking()))
    }
}

impl Io for Tls {
    fn connect(&mut self, connection: usize, peer: &Peer) -> io::Result<()> {
        if let Some(name) = &self.names[connection] {
            let tls = ClientConnection::new(self.config.clone(), name.clone()).map_err(io::Error::other)?;
            self.sessions[connection] = Some(Box::new(Session { tls, established: false, ended: false }));
        }
        self.inner.connect(connection, peer)
    }

    fn send(&mut self, connection: usize, bytes: &[u8]) -> io::Result<()> {
        if self.names[connection].is_none() {
            return self.inner.send(connection, bytes);
        }
        let Some(session) = self.sessions[connection].as_deref_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        // The whole request goes into one buffer of ours; rustls' own limit would cut it.
        session.tls.set_buffer_limit(None);
        session.tls.writer().write_all(bytes)?;
        self.flush(connection)
    }

    fn close(&mut self, connection: usize) {
        self.sessions[connection] = None;
        self.inner.close(connection);
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<usize> {
        self.closing.clear();
        std::mem::swap(&mut self.closing, &mut self.ended);
        self.inner_events = self.inner.wait(if self.closing.is_empty() { until_ns } else { 0 })?;
        Ok(self.inner_events + self.closing.len())
    }

    fn event(&mut self, index: usize) -> Option<(usize, Event<'_>)> {
        self.plain.clear();
        if let Some(place) = index.checked_sub(self.inner_events) {
            let connection = self.closing[place];
            return self.has_ended(connection).then_some((connection, Event::Closed));
        }
        let (connection, arrived) = match self.inner.event(index)? {
            (connection, Event::Connected) if self.names[connection].is_none() => {
                return Some((connection, Event::Connected));
            }
            (connection, Event::Data { bytes, arrived }) if self.names[connection].is_none() => {
                // Copied, since the borrow of the inner event ends here.
                self.plain.extend_from_slice(bytes);
                return Some((connection, Event::Data { bytes: &self.plain, arrived }));
            }
            (connection, Event::Connected) => {
                let sent = self.flush(connection);
                return sent.err().map(|error| (connection, Event::ConnectFailed(error)));
            }
            (connection, Event::Data { bytes, arrived }) => {
                self.encrypted.clear();
                self.encrypted.extend_from_slice(bytes);
                (connection, arrived)
            }
            (connection, Event::Closed) => {
                return Some((connection, self.before_established(connection, Event::Closed)));
            }
            (connection, Event::ReadFailed(error)) => {
                return Some((connection, self.before_established(connection, Event::ReadFailed(error))));
            }
            // Written out, since the borrow of the inner event ends here.
            (connection, Event::ConnectFailed(error)) => return Some((connection, Event::ConnectFailed(error))),
            (connection, Event::WriteFailed(error)) => return Some((connection, Event::WriteFailed(error))),
        };
        let was_established = self.sessions[connection].as_deref().is_some_and(|session| session.established);
        let outcome =
            self.decrypt(connection).and_then(|is_established| self.flush(connection).map(|()| is_established));
        match outcome {
            Err(error) if was_established => Some((connection, Event::ReadFailed(error))),
            Err(error) => Some((connection, Event::ConnectFailed(error))),
            Ok(true) => Some((connection, Event::Connected)),
            Ok(false) if self.plain.is_empty() => self.has_ended(connection).then_some((connection, Event::Closed)),
            Ok(false) => {
                if self.has_ended(connection) {
                    self.ended.push(connection);
                }
                Some((connection, Event::Data { bytes: &self.plain, arrived }))
            }
        }
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn receive_clock(&self) -> ReceiveClock {
        self.inner.receive_clock()
    }
}

impl Tls {
    fn has_ended(&self, connection: usize) -> bool {
        self.sessions[connection].as_deref().is_some_and(|session| session.ended)
    }

    /// An event that ends the connection during the handshake is a failure to connect.
    fn before_established<'a>(&self, connection: usize, event: Event<'a>) -> Event<'a> {
        match &self.sessions[connection] {
            Some(session) if !session.established => Event::ConnectFailed(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "closed within the TLS handshake",
            )),
            _ => event,
        }
    }
}

/// Accepts every certificate and every signature: a signature proves nothing where its key may be anybody's.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
