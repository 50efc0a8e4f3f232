//! Servers that fail in every way: no hang, no spin, and each failure under its name.

use crate::support::{LONGER_THAN_A_RUN, OK, Run, Server, agrees, held, run};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// Every tenth request gets the response `bad` and the connection is closed; the others get a good one.
fn every_tenth(bad: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> (Server, Run) {
    let server = Server::start(move |stream, seen| {
        if seen.number % 10 == 9 {
            bad(stream);
            return false;
        }
        stream.write_all(OK).is_ok()
    });
    // Bounded by its number, so that a busy machine leaves nothing without a response.
    let run = run(&format!("-t1 -c2 -R 200 -n 200 --timeout 10s {}", server.url("/")));
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    run.assert_nothing_vanished();
    assert_eq!(run.count("/requests/scheduled"), 200);
    (server, run)
}

fn assert_failed_as(run: &Run, kind: &str) {
    assert_eq!(run.count(&format!("/errors/{kind}")), 20, "{}", run.json["errors"]);
    assert_eq!(run.count("/requests/failed"), 20);
    assert_eq!(run.count("/requests/completed"), 180);
    assert!(run.count("/reconnects") >= 18, "{}", run.json["reconnects"]);
}

#[test]
fn garbage_is_a_parse_error() {
    let (_server, run) = every_tenth(|stream| drop(stream.write_all(b"\x00\xFFwhat is this\r\n\r\n")));
    assert_failed_as(&run, "parse");
}

#[test]
fn a_malformed_length_is_a_parse_error() {
    let (_server, run) = every_tenth(|stream| drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n")));
    assert_failed_as(&run, "parse");
}

#[test]
fn endless_headers_are_a_parse_error() {
    let (_server, run) = every_tenth(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        let line = format!("X-Padding: {}\r\n", "p".repeat(1000));
        for _ in 0..100 {
            let _ = stream.write_all(line.as_bytes());
        }
        std::thread::sleep(Duration::from_millis(20));
    });
    assert_failed_as(&run, "parse");
}

#[test]
fn a_close_before_or_within_the_response_is_a_read_error() {
    for part in [
        &b""[..],
        b"HTTP/1.1 20",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
    ] {
        let (_server, run) = every_tenth(|stream| drop(stream.write_all(part)));
        assert_failed_as(&run, "read");
    }
}

#[test]
fn a_reset_is_a_read_error() {
    let (_server, run) = every_tenth(|stream| {
        let linger = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
        linger.expect("a socket can be set to reset on close");
        let _ = stream.shutdown(std::net::Shutdown::Read);
    });
    assert_failed_as(&run, "read");
}

#[test]
fn bytes_after_a_response_are_a_parse_error_but_the_response_counts() {
    let server = Server::start(|stream, seen| {
        let surplus: &[u8] = if seen.number % 10 == 9 { b"surplus" } else { b"" };
        stream.write_all(&[OK, surplus].concat()).is_ok()
    });
    let run = run(&format!("-t1 -c1 -R 200 -n 200 --timeout 10s {}", server.url("/")));
    run.assert_nothing_vanished();
    assert_eq!((run.count("/requests/completed"), run.count("/errors/parse")), (200, 20));
}

#[test]
fn half_a_response_and_silence_is_a_timeout_and_censored() {
    let server = || {
        Server::start(|stream, seen| {
            if seen.number < 50 {
                return stream.write_all(OK).is_ok();
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
            std::thread::sleep(LONGER_THAN_A_RUN);
            false
        })
    };
    // A machine that stalls for so long makes a time-out too.
    agrees(|| {
        let server = server();
        let run = run(&format!("-t1 -c1 -R 100 -d 1s --timeout 200ms {}", server.url("/")));
        run.assert_nothing_vanished();
        let of = |name: &str| run.count(&format!("/requests/{name}"));
        assert_eq!(of("completed") + of("failed") + of("censored"), 100, "{}", run.json["requests"]);
        // Each connection that is given up makes room for another request.
        held((2..=3).contains(&run.count("/errors/timeout")) && of("completed") == 50, &run.json)
    });
}

#[test]
fn a_bounded_run_gives_up_what_never_gets_a_response() {
    agrees(|| {
        let server = Server::start(|stream, seen| {
            if seen.number == 5 {
                std::thread::sleep(LONGER_THAN_A_RUN);
                return false;
            }
            stream.write_all(OK).is_ok()
        });
        let run = run(&format!("-t1 -c1 -n 20 --timeout 200ms {}", server.url("/")));
        let (completed, failed) = (run.count("/requests/completed"), run.count("/requests/failed"));
        assert_eq!((completed + failed, run.count("/errors/timeout")), (20, failed), "{}", run.json);
        held(failed == 1, &run.json)
    });
}

#[test]
fn connection_close_is_no_error() {
    let server = Server::start(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        false
    });
    let run = run(&format!("-t1 -c2 -R 200 -n 200 --timeout 10s {}", server.url("/")));
    assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (200, 0));
    assert!(run.count("/reconnects") >= 190);
    assert_eq!(run.count("/errors/connect") + run.count("/errors/read"), 0);
}

#[test]
fn bodies_that_end_with_the_connection_or_in_chunks_are_complete() {
    let server = Server::start(|stream, seen| {
        if seen.number % 2 == 0 {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
            return false;
        }
        let big = "z".repeat(100_000);
        stream
            .write_all(
                format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n{big}\r\n0\r\n\r\n").as_bytes(),
            )
            .is_ok()
    });
    let run = run(&format!("-t1 -c1 -R 100 -n 100 --timeout 10s {}", server.url("/")));
    assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (100, 0));
    assert!(run.count("/bytes/read") > 5_000_000);
}

#[test]
fn status_codes_are_counted_each_and_by_class() {
    let server = Server::start(|stream, seen| {
        let status = if seen.number % 4 == 3 { "404 Not Found" } else { "201 Created" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    let run = run(&format!("-t1 -c1 -R 200 -n 200 --timeout 10s {}", server.url("/")));
    assert_eq!((run.count("/status/201"), run.count("/status/404"), run.count("/errors/status")), (150, 50, 50));
    assert_eq!(run.count("/latency_us_by_class/4xx/response/count"), 50);
    assert!(run.stdout.contains("  Non-2xx or 3xx responses: 50"), "{}", run.stdout);
}

#[test]
fn a_server_that_stops_reading_blocks_no_one() {
    let scratch = crate::support::Scratch::new();
    let script = scratch.file("big.lua", "wrk.method = 'PUT'\nwrk.body = string.rep('x', 8000000)\n");
    agrees(|| {
        let server = Server::start(|stream, seen| {
            if seen.number == 0 {
                let _ = stream.write_all(OK);
                // The next bodies fill the socket buffers while nobody reads.
                std::thread::sleep(LONGER_THAN_A_RUN);
            }
            false
        });
        let run = run(&format!("-t1 -c1 -R 10 -d 1s --timeout 300ms -s {} {}", script.display(), server.url("/")));
        run.assert_nothing_vanished();
        // On a busy machine the first body may take too long as well.
        held((run.count("/requests/completed"), run.count("/errors/timeout")) == (1, 1), &run.json)
    });
}

#[test]
fn wrong_lengths_are_named_for_what_they_do() {
    // Too short a length: the rest of the body is surplus, and the response counts. Too long: the close cuts it.
    let server = Server::start(|stream, seen| match seen.number % 20 {
        9 => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nmore than two").is_ok(),
        19 => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\nless");
            false
        }
        _ => stream.write_all(OK).is_ok(),
    });
    let run = run(&format!("-t1 -c1 -R 200 -n 200 --timeout 10s {}", server.url("/")));
    run.assert_nothing_vanished();
    assert_eq!((run.count("/errors/parse"), run.count("/errors/read")), (10, 10), "{}", run.json["errors"]);
    assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (190, 10));
}

#[test]
fn two_lengths_and_broken_chunks_are_parse_errors() {
    for bad in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot hex\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokXX",
        b"HTTP/2 200\r\n\r\n",
    ] {
        let (_server, run) = every_tenth(|stream| drop(stream.write_all(bad)));
        assert_failed_as(&run, "parse");
    }
}

#[test]
fn a_reset_within_the_body_is_a_read_error() {
    let (_server, run) = every_tenth(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        let linger = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
        linger.expect("a socket can be set to reset on close");
        let _ = stream.shutdown(std::net::Shutdown::Read);
    });
    assert_failed_as(&run, "read");
}

#[test]
fn a_large_but_legal_head_is_a_response() {
    let server = Server::start(|stream, _| {
        let padding = format!("X-Padding: {}\r\n", "p".repeat(900)).repeat(60);
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{padding}Content-Length: 2\r\n\r\nok").as_bytes()).is_ok()
    });
    let run = run(&format!("-t1 -c1 -R 50 -n 50 --timeout 10s {}", server.url("/")));
    assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (50, 0), "{}", run.json["errors"]);
}

#[test]
fn a_response_in_single_bytes_is_a_response() {
    let server = Server::start(|stream, _| OK.iter().all(|byte| stream.write_all(&[*byte]).is_ok()));
    let run = run(&format!("-t1 -c4 -R 40 -n 40 --timeout 10s {}", server.url("/")));
    assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (40, 0), "{}", run.json["errors"]);
}

#[test]
fn a_run_without_a_status_below_400_has_not_succeeded() {
    let load = |statuses: &'static [&'static str], flags: &str| {
        let server = Server::start(move |stream, seen| {
            let status = statuses[seen.number as usize % statuses.len()];
            stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
        });
        let run = run(&format!("-t1 -c1 -n20 --timeout 10s {flags} {}", server.url("/")));
        assert_eq!(run.count("/requests/completed"), 20, "{statuses:?}: {}", run.json["requests"]);
        run
    };
    for statuses in [&["404 Not Found"][..], &["429 Too Many Requests"], &["500 Bad", "500 Bad", "404 Not Found"]] {
        let run = load(statuses, "");
        let sentence = "of 20 requests 20 had a status of 400 or more, so that none succeeded";
        assert_eq!((run.code, run.json["shortfall"].as_str()), (Some(4), Some(sentence)), "{statuses:?}");
        assert!(run.stderr.contains(sentence), "{statuses:?}: {}", run.stderr);
        assert_eq!(load(statuses, "--wrk-compat").code, Some(0), "{statuses:?}");
    }
    for statuses in [&["200 OK", "500 Bad", "500 Bad"][..], &["302 Found"]] {
        let run = load(statuses, "");
        assert_eq!((run.code, run.json["shortfall"].as_str()), (Some(0), None), "{statuses:?}");
    }
}
