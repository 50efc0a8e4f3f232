//! https: a layer over any other [`Io`] that encrypts what goes out and decrypts what comes in.
//!
//! As in wrk, certificates are not verified: a load generator is pointed at test servers, and what is measured is the
//! same either way.

use super::{Event, Io, ReceiveClock};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// [`Io`] over TLS.
pub struct Tls {
    inner: Box<dyn Io>,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    sessions: Vec<Option<Box<Session>>>,
    /// Decrypted bytes of the last event.
    plain: Vec<u8>,
    encrypted: Vec<u8>,
}

struct Session {
    tls: ClientConnection,
    /// The handshake is over and was told.
    stands: bool,
}

impl Tls {
    /// A layer for connections to `host` (a name or an address).
    ///
    /// # Errors
    /// When the host is no valid server name.
    pub fn new(inner: Box<dyn Io>, host: &str, connections: usize) -> io::Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut sessions = Vec::new();
        sessions.resize_with(connections, || None);
        Ok(Tls { inner, config: Arc::new(config), name, sessions, plain: Vec::new(), encrypted: Vec::new() })
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
            session.tls.read_tls(&mut rest)?;
            let state = session.tls.process_new_packets().map_err(io::Error::other)?;
            let before = self.plain.len();
            self.plain.resize(before + state.plaintext_bytes_to_read(), 0);
            session.tls.reader().read_exact(&mut self.plain[before..])?;
        }
        Ok(!session.tls.is_handshaking() && !std::mem::replace(&mut session.stands, !session.tls.is_handshaking()))
    }
}

impl Io for Tls {
    fn connect(&mut self, connection: usize, address: SocketAddr) -> io::Result<()> {
        let tls = ClientConnection::new(self.config.clone(), self.name.clone()).map_err(io::Error::other)?;
        self.sessions[connection] = Some(Box::new(Session { tls, stands: false }));
        self.inner.connect(connection, address)
    }

    fn send(&mut self, connection: usize, bytes: &[u8]) -> io::Result<()> {
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
        self.inner.wait(until_ns)
    }

    fn event(&mut self, index: usize) -> Option<(usize, Event<'_>)> {
        self.plain.clear();
        let (connection, arrived_ns) = match self.inner.event(index)? {
            (connection, Event::Connected) => {
                let sent = self.flush(connection);
                return sent.err().map(|error| (connection, Event::ConnectFailed(error)));
            }
            (connection, Event::Data { bytes, arrived_ns }) => {
                self.encrypted.clear();
                self.encrypted.extend_from_slice(bytes);
                (connection, arrived_ns)
            }
            (connection, Event::Closed) => return Some((connection, self.before_standing(connection, Event::Closed))),
            (connection, Event::ReadFailed(error)) => {
                return Some((connection, self.before_standing(connection, Event::ReadFailed(error))));
            }
            // Written out, since the borrow of the inner event ends here.
            (connection, Event::ConnectFailed(error)) => return Some((connection, Event::ConnectFailed(error))),
            (connection, Event::WriteFailed(error)) => return Some((connection, Event::WriteFailed(error))),
        };
        let stood = self.sessions[connection].as_deref().is_some_and(|session| session.stands);
        let outcome = self.decrypt(connection).and_then(|stands_now| self.flush(connection).map(|()| stands_now));
        match outcome {
            Err(error) if stood => Some((connection, Event::ReadFailed(error))),
            Err(error) => Some((connection, Event::ConnectFailed(error))),
            Ok(true) => Some((connection, Event::Connected)),
            Ok(false) if self.plain.is_empty() => None,
            Ok(false) => Some((connection, Event::Data { bytes: &self.plain, arrived_ns })),
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
    /// What ends a connection within the handshake is a failure to connect.
    fn before_standing<'a>(&self, connection: usize, event: Event<'a>) -> Event<'a> {
        match &self.sessions[connection] {
            Some(session) if !session.stands => Event::ConnectFailed(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "closed within the TLS handshake",
            )),
            _ => event,
        }
    }
}

/// Accepts every certificate; signatures are still checked.
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
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
