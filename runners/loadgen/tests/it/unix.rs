//! A server on a Unix socket is loaded as any other.

use crate::support::{OK, run};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

/// A server on a socket of its own; the file goes with it.
struct Served(PathBuf);

impl Served {
    fn start(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("truepace-{name}-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || respond(stream));
            }
        });
        Served(path)
    }

    fn url(&self, path: &str) -> String {
        format!("http+unix://{}{path}", self.0.to_str().unwrap().replace('/', "%2F"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Responds to requests without a body that are for this host and this path; closes at any other.
fn respond(mut stream: UnixStream) {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
        if text.ends_with(b"\r\n\r\n") {
            let request = String::from_utf8(std::mem::take(&mut text)).unwrap();
            if !request.starts_with("GET /x?y=1 ") || !request.contains("Host: localhost\r\n") {
                return;
            }
            stream.write_all(OK).unwrap();
        }
    }
}

#[test]
fn every_request_of_a_schedule_reaches_a_unix_socket() {
    let (server_a, server_b) = (Served::start("one"), Served::start("other"));
    for io in ["auto", "portable"] {
        let run = run(&format!("-c 4 -R 200 -n 100 --io {io} {}", server_a.url("/x?y=1")));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.assert_nothing_vanished();
        assert_eq!(run.json["requests"]["completed"], 100, "{io}: {}", run.json);
        assert_eq!(run.json["generator"]["receive_clock"], "user", "no packet, and so no stamp: {}", run.json);
    }
    let run = run(&format!(
        "-t1 -c1 -R 200 -n 100 --target a={} --target b={}",
        server_a.url("/x?y=1"),
        server_b.url("/x?y=1")
    ));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.json["requests"]["completed"], 100, "{}", run.json);
    for target in run.json["targets"].as_array().unwrap() {
        assert!(target["requests"]["completed"].as_u64() > Some(40), "{target}");
    }
}

#[test]
fn an_absent_socket_is_named() {
    let run = run("-R 10 -d 1s http+unix://%2Fnowhere%2Fa.sock/x");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("/nowhere/a.sock"), "{}", run.stderr);
}
