//! Every system interface gives the same results.

use crate::support::{LONGER_THAN_A_RUN, OK, Server, agrees, held, run};
use std::cell::Cell;
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Runs with each interface that this machine has.
fn with_each(
    behaviour: impl Fn(&mut std::net::TcpStream, &crate::support::Seen) -> bool + Send + Sync + Clone + 'static,
    line: &str,
    check: impl Fn(&crate::support::Run),
) {
    for io in ["epoll", "uring", "portable"] {
        let server = Server::start(behaviour.clone());
        let run = run(&format!("--io {io} {line} {}", server.url("/")));
        if run.code == Some(2) && run.stderr.contains("this system refuses")
            || run.stderr.contains("exists on Linux only")
        {
            eprintln!("skipped: {}", run.stderr);
            continue;
        }
        assert!(matches!(run.code, Some(0 | 4)), "{io}: {}", run.stderr);
        run.assert_nothing_vanished();
        check(&run);
    }
}

/// Written or not, the server closes next.
fn then_close(_: std::io::Result<()>) -> bool {
    false
}

#[test]
fn a_rate_is_kept() {
    agrees(|| {
        let least = Cell::new(u64::MAX);
        with_each(
            |stream, _| stream.write_all(OK).is_ok(),
            "-t2 -c8 -R 2000 -d 1s",
            |run| {
                // A machine that stalls at the end leaves some without a response; they are counted.
                assert_eq!(run.count("/requests/scheduled"), 2000, "{}", run.json["requests"]);
                assert_eq!(run.count("/requests/completed") + run.count("/requests/censored"), 2000, "{}", run.json);
                assert!(run.number("/latency_us/service/p50") > 1.0);
                least.set(least.get().min(run.count("/requests/completed")));
            },
        );
        held(least.get() > 1800, least.get())
    });
}

#[test]
fn a_closed_loop_runs() {
    with_each(
        |stream, _| stream.write_all(OK).is_ok(),
        "-t1 -c4 -n 5000",
        |run| assert_eq!(run.count("/requests/completed"), 5000),
    );
}

#[test]
fn large_bodies_come_whole() {
    let body = |stream: &mut std::net::TcpStream, _: &crate::support::Seen| {
        let body = vec![b'z'; 3_000_000];
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n").is_ok()
            && stream.write_all(&body).is_ok()
    };
    with_each(body, "-t1 -c2 -n 20", |run| {
        assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (20, 0));
        assert!(run.count("/bytes/read") > 60_000_000);
    });
}

#[test]
fn large_requests_go_whole() {
    let scratch = crate::support::Scratch::new();
    let script = scratch.file("big.lua", "wrk.method = 'PUT'\nwrk.body = string.rep('x', 2000000)\n");
    let slow = |stream: &mut std::net::TcpStream, seen: &crate::support::Seen| {
        assert_eq!(seen.body.len(), 2_000_000);
        stream.write_all(OK).is_ok()
    };
    with_each(slow, &format!("-t1 -c2 -n 20 -s {}", script.display()), |run| {
        assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (20, 0));
    });
}

#[test]
fn closed_connections_are_made_again() {
    let closing = |stream: &mut std::net::TcpStream, seen: &crate::support::Seen| match seen.number % 4 {
        0 => then_close(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")),
        1 => then_close(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")),
        2 => then_close(stream.write_all(b"what?\r\n")),
        _ => stream.write_all(OK).is_ok(),
    };
    with_each(closing, "-t1 -c1 -R 200 -n 200 --timeout 10s", |run| {
        assert_eq!(run.count("/requests/completed"), 100, "{}", run.json["errors"]);
        assert_eq!((run.count("/errors/read"), run.count("/errors/parse")), (50, 50));
    });
}

#[test]
fn a_request_goes_to_no_connection_but_its_own() {
    // The last response of a connection and its end arrive together: what is sent in between must not reach the next
    // connection, whose server would respond twice.
    let served = Arc::new(Mutex::new(HashMap::new()));
    let closing = move |stream: &mut std::net::TcpStream, _: &crate::support::Seen| {
        let mut served = served.lock().unwrap();
        let count = served.entry(stream.peer_addr().ok()).or_insert(0);
        *count += 1;
        let last = *count == 3;
        if last {
            served.remove(&stream.peer_addr().ok());
        }
        stream.write_all(OK).is_ok() && !last
    };
    with_each(closing, "-t1 -c16 -n 15000", |run| {
        assert_eq!(run.count("/errors/parse"), 0, "{}", run.json["errors"]);
        assert_eq!(run.count("/errors/timeout"), 0, "{}", run.json["errors"]);
    });
}

#[test]
fn a_frozen_server_ends_in_time() {
    let frozen = |stream: &mut std::net::TcpStream, seen: &crate::support::Seen| {
        if seen.number >= 100 {
            std::thread::sleep(LONGER_THAN_A_RUN);
        }
        stream.write_all(OK).is_ok()
    };
    with_each(frozen, "-t1 -c1 -R 200 -d 1s --drain 100ms", |run| {
        assert_eq!((run.count("/requests/completed"), run.count("/requests/censored")), (100, 100));
    });
}

#[test]
fn a_closed_loop_takes_io_uring_where_the_system_has_it_and_a_rate_never() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let server = Server::ok();
    let used = |flags: &str| {
        let run = run(&format!("-t1 -c2 -n 50 {flags} {}", server.url("/")));
        run.json["generator"]["io"].as_str().map(str::to_owned)
    };
    let epoll = used("--io epoll").or_else(|| used("--io portable"));
    assert_eq!(used(""), used("--io uring").or_else(|| epoll.clone()));
    for by_stamps_or_paced in ["--receive-clock kernel", "-R 500", "-R 500 --receive-clock user"] {
        assert_eq!(used(by_stamps_or_paced), epoll, "{by_stamps_or_paced}");
    }
}
