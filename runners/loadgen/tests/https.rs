//! https to a server with a certificate that nobody has signed, as test servers have.

mod support;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use support::{OK, Server, agrees, held, run};

/// Answers every request with a body of `body` bytes.
fn start(body: usize) -> std::net::SocketAddr {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || {
                let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                let answer =
                    [format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n").into_bytes(), vec![b'z'; body]]
                        .concat();
                let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = tls.read(&mut buffer) {
                    text.extend_from_slice(&buffer[..count]);
                    if text.ends_with(b"\r\n\r\n") {
                        text.clear();
                        if tls.write_all(&answer).and_then(|()| tls.flush()).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

#[test]
fn requests_and_answers_pass_on_every_back_end() {
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
        // What was due and not sent is told all the same.
        run.assert_nothing_vanished();
        assert_eq!(run.count("/requests/completed"), 0, "{mode}");
        assert!(run.count("/errors/connect") >= 1, "{mode}: {}", run.json["errors"]);
    }
}
