//! https to a server with a certificate that nobody has signed, as test servers have.

use crate::support::{OK, Server, agrees, held, run};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{ServerConfig, ServerConnection, SignatureAlgorithm, SignatureScheme, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

fn private_key() -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(include_bytes!("data/self-signed-key.der").as_slice()))
}

/// Serves each connection with `serve` in a thread of its own.
fn start_with(serve: impl Fn(ServerConnection, TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(include_bytes!("data/self-signed.der").as_slice())], private_key())
        .unwrap();
    start_configured(config, serve)
}

fn start_configured(
    config: ServerConfig,
    serve: impl Fn(ServerConnection, TcpStream) + Clone + Send + 'static,
) -> SocketAddr {
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            let serve = serve.clone();
            std::thread::spawn(move || serve(ServerConnection::new(config).unwrap(), stream));
        }
    });
    address
}

/// Responds to every request with a body of `body` bytes.
fn start(body: usize) -> SocketAddr {
    start_with(move |tls, stream| respond(tls, stream, body))
}

fn respond(tls: ServerConnection, stream: TcpStream, body: usize) {
    let mut tls = StreamOwned::new(tls, stream);
    let response =
        [format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n").into_bytes(), vec![b'z'; body]].concat();
    while read_request(&mut tls) {
        if tls.write_all(&response).and_then(|()| tls.flush()).is_err() {
            return;
        }
    }
}

/// Reads a request without a body. False: the client has closed.
fn read_request(stream: &mut impl Read) -> bool {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
        if text.ends_with(b"\r\n\r\n") {
            return true;
        }
    }
    false
}

/// Responds to the first request of a connection with `head`, ends the session (close_notify), sends bytes that have no
/// meaning any more, all in one, and leaves the connection open.
fn ending(head: &'static [u8], after: usize) -> SocketAddr {
    start_with(move |tls, stream| {
        let mut tls = StreamOwned::new(tls, stream);
        if read_request(&mut tls) {
            let mut bytes = Vec::new();
            tls.conn.writer().write_all(head).unwrap();
            tls.conn.send_close_notify();
            while tls.conn.wants_write() {
                tls.conn.write_tls(&mut bytes).unwrap();
            }
            bytes.resize(bytes.len() + after, 0);
            let _ = tls.sock.write_all(&bytes);
            let _ = std::io::copy(&mut tls.sock, &mut std::io::sink());
        }
    })
}

#[test]
fn bytes_after_the_end_of_a_session_are_skipped() {
    let server = ending(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", 200_000);
    let run = run(&format!("-t1 -c1 -n5 https://{server}/"));
    assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (5, 0), "{}", run.json["errors"]);
}

#[test]
fn the_end_of_a_session_ends_its_connection() {
    // Nothing gets a response, and the connection below stays open: without the end of the session only a time-out is left.
    let server = ending(b"", 0);
    let run = run(&format!("-t1 -c1 -R50 -n5 --timeout 15s https://{server}/"));
    assert_eq!((run.count("/errors/read"), run.count("/errors/timeout")), (5, 0), "{}", run.json["errors"]);
}

#[test]
fn the_end_of_a_session_ends_a_body_without_a_length() {
    let server = ending(b"HTTP/1.0 200 OK\r\n\r\nto the end", 0);
    let run = run(&format!("-t1 -c1 -n5 --timeout 15s https://{server}/"));
    assert_eq!((run.count("/requests/completed"), run.count("/errors/timeout")), (5, 0), "{}", run.json["errors"]);
}

#[test]
fn requests_and_responses_pass_on_every_back_end() {
    let (small, large) = (start(2), start(500_000));
    let backends: &[&str] = if cfg!(target_os = "linux") { &["epoll", "portable", "uring"] } else { &["auto"] };
    for io in backends {
        agrees(|| {
            let run1 = run(&format!("--io {io} -t2 -c4 -R 500 -d 1s https://localhost:{}/", small.port()));
            if run1.code == Some(2) && run1.stderr.contains("this system refuses") {
                eprintln!("skipped: {}", run1.stderr);
                return Ok(());
            }
            assert_eq!(run1.code, Some(0), "{}", run1.stderr);
            assert_eq!(run1.count("/requests/failed"), 0, "{io}");
            run1.assert_nothing_vanished();
            held(run1.count("/requests/completed") == 500, &run1.json["requests"])?;
            let run2 = run(&format!("--io {io} -t1 -c2 -n 20 https://127.0.0.1:{}/", large.port()));
            assert_eq!((run2.count("/requests/completed"), run2.count("/requests/failed")), (20, 0), "{io}");
            Ok(())
        });
    }
}

#[test]
fn a_server_without_tls_is_a_connect_error_and_no_hang() {
    let server = Server::start(|stream, _| stream.write_all(OK).is_ok());
    for mode in ["-R 100 -d 500ms", "-d 500ms", "-n 5"] {
        let run = run(&format!("-t1 -c1 {mode} --timeout 300ms https://{}/", server.address));
        assert_eq!(run.code, Some(2), "{mode}: {}", run.stderr);
        assert!(run.stderr.contains("no connection to https://") && run.stderr.contains("nothing was measured"));
        // What was due and not sent is reported all the same.
        run.assert_nothing_vanished();
        assert_eq!(run.count("/requests/completed"), 0, "{mode}");
        assert!(run.count("/errors/connect") >= 1, "{mode}: {}", run.json["errors"]);
    }
}

#[test]
fn a_response_in_plain_http_is_named_with_its_remedy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        }
    });
    let run = run(&format!("-t1 -c1 -R 100 -d 500ms --timeout 10s https://{address}/"));
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let last = run.stderr.lines().last().unwrap();
    assert!(last.contains("the first so: connect failed: no TLS here; use http://)"), "{last}");
}

/// Gives a certificate that rustls itself would not give.
#[derive(Debug)]
struct AsItIs(Arc<CertifiedKey>);

impl ResolvesServerCert for AsItIs {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// In place of an RSA key of 1024 bits, with which rustls' libraries neither sign nor verify: its signatures are as long.
#[derive(Debug)]
struct SmallKey;

impl SigningKey for SmallKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&self.scheme()).then(|| Box::new(SmallKey) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

impl Signer for SmallKey {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        Ok(vec![1; 1024 / 8])
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::RSA_PSS_SHA256
    }
}

/// Loads a server with a certificate, over each version of TLS.
fn assert_accepted(certificate: &'static [u8], key: Arc<dyn SigningKey>) {
    let provider = rustls::crypto::ring::default_provider();
    let certified = Arc::new(CertifiedKey::new(vec![CertificateDer::from(certificate)], key));
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = ServerConfig::builder_with_provider(Arc::new(provider.clone()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(AsItIs(certified.clone())));
        let server = start_configured(config, |tls, stream| respond(tls, stream, 2));
        let run = run(&format!("-t1 -c1 -n5 https://{server}/"));
        assert_eq!((run.code, run.count("/requests/completed")), (Some(0), 5), "{version:?}: {}", run.stderr);
    }
}

#[test]
fn no_certificate_is_refused_whatever_its_version() {
    let key = rustls::crypto::ring::default_provider().key_provider.load_private_key(private_key()).unwrap();
    assert_accepted(include_bytes!("data/self-signed-v1.der"), key);
}

#[test]
fn no_certificate_is_refused_whatever_the_length_of_its_key() {
    assert_accepted(include_bytes!("data/self-signed-rsa-1024.der"), Arc::new(SmallKey));
}

#[test]
fn https_and_http_share_one_schedule() {
    let (secure, plain) = (start(2), Server::ok());
    let run = run(&format!(
        "-t1 -c2 -R 128 -n 128 --target secure=https://localhost:{}/ --target plain={}",
        secure.port(),
        plain.url("/")
    ));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.assert_nothing_vanished();
    for target in 0..2 {
        assert_eq!(run.json["targets"][target]["requests"]["completed"], 64, "{}", run.json["targets"][target]);
    }
}
