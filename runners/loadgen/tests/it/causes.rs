//! What failed is said by cause, with the first of each: a server that speaks another protocol is known at once.

use crate::support::{Run, Server, run};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

fn failure<'a>(run: &'a Run, cause: &str) -> &'a Value {
    let failures = run.json["failures"].as_array().expect("a list");
    let of_cause = failures.iter().find(|failure| failure["cause"] == cause);
    of_cause.unwrap_or_else(|| panic!("no {cause} in {}", run.json["failures"]))
}

fn against(first_bytes: &'static [u8]) -> Run {
    let server = Server::start(move |stream, _| {
        let _ = stream.write_all(first_bytes);
        std::thread::sleep(Duration::from_millis(20));
        false
    });
    run(&format!("-t1 -c2 -R 50 -n 20 --timeout 10s {}", server.url("/")))
}

#[test]
fn what_is_no_http_1_is_shown_with_the_protocol_that_it_looks_like() {
    for (bytes, protocol, text) in [
        (&b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80"[..], Some("HTTP/2"), r"\x00\x00\x12\x04"),
        (b"\x15\x03\x01\0\x02\x02F", Some("TLS (https)"), r"\x15\x03\x01"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Some("SSH"), "SSH-2.0-OpenSSH_9.6"),
        (b"hello, who is there?\r\n", None, "hello, who is there?"),
    ] {
        let run = against(bytes);
        assert_eq!(run.code, Some(4));
        let failure = failure(&run, "no HTTP/1.1 response");
        let first = failure["first"].as_str().expect("text");
        assert!(first.contains(protocol.unwrap_or(text)) && first.contains(text), "{first}");
        assert_eq!(failure["protocol"].as_str(), protocol);
        assert_eq!(failure["count"].as_u64(), Some(run.count("/errors/parse")));
        assert!(failure["first_s"].as_f64().is_some_and(|first_s| (0.0..10.0).contains(&first_s)), "{failure}");
        assert!(run.stderr.contains(text), "{}", run.stderr);
    }
}

#[test]
fn resets_early_closes_and_time_outs_are_distinguished() {
    let server = Server::start(|stream, seen| match seen.number % 3 {
        0 => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            false
        }
        1 => {
            let linger = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
            linger.expect("a socket can be set to reset on close");
            let _ = stream.shutdown(std::net::Shutdown::Read);
            false
        }
        _ => {
            std::thread::sleep(crate::support::LONGER_THAN_A_RUN);
            false
        }
    });
    let run = run(&format!("-t1 -c1 -n 6 --timeout 500ms --summary {}", server.url("/")));
    for cause in ["connection reset", "closed before the response was complete", "no response within the time-out"] {
        assert_eq!(failure(&run, cause)["count"], 2, "{}", run.json["failures"]);
        assert!(run.stdout.contains(&format!("2 x {cause}, the first after ")), "{}", run.stdout);
    }
}

#[test]
fn a_server_that_went_away_is_refused() {
    let server = Server::start(|_, _| false);
    let (address, scratch) = (server.address, crate::support::Scratch::new());
    let json = scratch.0.join("out.json");
    let url = format!("http://{address}/");
    let arguments = ["--json", json.to_str().expect("a plain path"), "-t1", "-c2", "-R", "50", "-d", "2s", &url];
    let child = crate::support::spawn(&arguments);
    while server.seen.lock().unwrap().len() < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(server);
    let run = crate::support::finish(child, &json);
    let refused = failure(&run, "connection refused");
    assert!(refused["count"].as_u64() > Some(5), "{refused}");
    assert_eq!(refused["counted_as"], "connect");
    assert_eq!(run.code, Some(4));
}
