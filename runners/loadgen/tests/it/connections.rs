//! Connections that are lost: who needs one connects at once, nobody else does, and what it costs is counted.

use crate::support::{OK, Server, agrees, held, run};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Responds to every request that comes, until the peer or somebody else closes.
fn respond(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) && stream.write_all(OK).is_ok() {}
}

fn reset(stream: &TcpStream) {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).expect("a socket can reset on close");
    let _ = stream.shutdown(Shutdown::Read);
}

/// A server that is gone from its port for a while.
fn with_an_outage(before: Duration, outage: Duration) -> (String, std::thread::JoinHandle<Duration>, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let over = Arc::new(AtomicBool::new(false));
    let ended = over.clone();
    let server = std::thread::spawn(move || {
        let streams = Arc::new(Mutex::new(Vec::new()));
        let accept = |listener: TcpListener, until: Option<Instant>| {
            listener.set_nonblocking(true).expect("a listener that does not wait");
            while !ended.load(Ordering::SeqCst) && until.is_none_or(|until| Instant::now() < until) {
                let Ok((stream, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_micros(200));
                    continue;
                };
                stream.set_nonblocking(false).expect("a stream that waits");
                streams.lock().unwrap().push(stream.try_clone().expect("a copy"));
                std::thread::spawn(move || respond(stream));
            }
        };
        accept(listener, Some(Instant::now() + before));
        let gone = Instant::now();
        streams.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        std::thread::sleep(outage);
        let again = TcpListener::bind(address).expect("the same port");
        let lasted = gone.elapsed();
        accept(again, None);
        lasted
    });
    (format!("http://{address}/"), server, over)
}

#[test]
fn an_outage_is_read_for_as_long_as_it_was() {
    agrees(|| {
        let (url, server, over) = with_an_outage(Duration::from_millis(500), Duration::from_millis(640));
        let run = run(&format!("-t1 -c4 -R 400 -d 2s {url}"));
        over.store(true, Ordering::SeqCst);
        let lasted_ms = server.join().expect("the server ends").as_secs_f64() * 1e3;
        run.assert_nothing_vanished();
        let read_ms = run.number("/latency_us/response/max") / 1e3;
        held((lasted_ms - 20.0..lasted_ms + 20.0).contains(&read_ms), format!("{read_ms} ms of {lasted_ms} ms"))
    });
}

#[test]
fn a_connection_that_was_closed_while_idle_costs_the_connect_alone() {
    agrees(|| {
        let server = Server::start(|stream, _| {
            let _ = stream.set_read_timeout(Some(Duration::from_millis(10)));
            stream.write_all(OK).is_ok()
        });
        // Each connection has a request every 250 ms.
        let run = run(&format!("-t1 -c20 -R 80 -n 160 --summary --timeout 10s {}", server.url("/")));
        run.assert_nothing_vanished();
        assert_eq!((run.count("/requests/completed"), run.code), (160, Some(0)), "{}", run.stdout);
        let (again, idle) = (run.count("/reconnects"), run.count("/closed_idle"));
        assert!(again >= 140 && idle >= 140, "{again} {idle}");
        assert!(again <= 161, "nothing connects without a request: {again}");
        assert_eq!(run.count("/reconnect_us/count"), again);
        assert!(run.stdout.contains(&format!("{again} connections made anew")), "{}", run.stdout);
        let p50_us = run.number("/latency_us/response/p50");
        held(p50_us < 20_000.0, format!("{p50_us} us"))
    });
}

#[test]
fn with_a_shared_queue_a_connection_is_made_for_each_request_that_finds_none() {
    let server = Server::start(|stream, _| {
        let _ = stream.set_read_timeout(Some(Duration::from_millis(2)));
        stream.write_all(OK).is_ok()
    });
    agrees(|| {
        let run = run(&format!("-t1 -c8 -R 100 -n 100 --queue shared --timeout 10s {}", server.url("/")));
        run.assert_nothing_vanished();
        let failed = run.count("/requests/failed");
        assert_eq!(run.count("/requests/completed"), 100 - failed);
        assert_eq!(run.code, Some(if failed == 0 { 0 } else { 4 }));
        let (reconnects, p50_us) = (run.count("/reconnects"), run.number("/latency_us/response/p50"));
        // A request can meet the server's close on the way, mostly on a busy machine.
        let kept = failed <= 3 && (50..=101).contains(&reconnects) && p50_us < 20_000.0;
        held(kept, format!("{failed} failed, {reconnects} reconnects, p50 {p50_us} us"))
    });
}

#[test]
fn a_server_that_closes_its_side_after_each_response_gets_every_request() {
    let server =
        Server::start(|stream, _| stream.write_all(OK).and_then(|()| stream.shutdown(Shutdown::Write)).is_ok());
    let run = run(&format!("-t1 -c4 -R 200 -n 200 --timeout 10s {}", server.url("/")));
    run.assert_nothing_vanished();
    assert_eq!(run.count("/requests/sent"), 200, "{}", run.json["requests"]);
    assert!(run.count("/requests/completed") >= 190, "{}", run.json["requests"]);
}

#[test]
fn a_server_that_resets_gets_every_request_at_its_time() {
    agrees(|| {
        let server = Server::start(|stream, _| {
            reset(stream);
            false
        });
        let run = run(&format!("-t1 -c16 -R 1000 -d 1s {}", server.url("/")));
        run.assert_nothing_vanished();
        assert_eq!(run.code, Some(4), "{}", run.stderr);
        assert_eq!(run.count("/failures/0/count"), run.count("/errors/read"), "{}", run.json["failures"]);
        let (sent, p50_us) = (run.count("/requests/sent"), run.number("/latency_us/response/p50"));
        held(sent >= 980 && p50_us < 20_000.0, format!("{sent} sent, {p50_us} us"))
    });
}

#[test]
fn a_closed_loop_connects_anew_at_once() {
    agrees(|| {
        let server = Server::start(|stream, _| {
            reset(stream);
            false
        });
        let run = run(&format!("-t1 -c16 -d 1s {}", server.url("/")));
        run.assert_nothing_vanished();
        // With pauses of 1, 2, 4 … ms there were some sixty.
        let attempts = server.accepted.load(Ordering::SeqCst);
        held(attempts > 1_000, format!("{attempts} attempts"))
    });
}

#[test]
fn a_closed_loop_keeps_its_pace_where_the_server_closes_unannounced() {
    agrees(|| {
        let server = Server::start(|stream, _| {
            let _ = stream.write_all(OK);
            false
        });
        let run = run(&format!("-t1 -c16 -d 1s --timeout 10s {}", server.url("/")));
        run.assert_nothing_vanished();
        let [completed, failed] = ["completed", "failed"].map(|name| run.count(&format!("/requests/{name}")));
        let (accepted, asked) = (server.accepted.load(Ordering::SeqCst), server.lines().len() as u64);
        assert!(completed <= asked, "{completed} responses to {asked} requests");
        assert_eq!(run.count("/status/200"), completed);
        // Each connection has one response, and at most one request that meets the close.
        assert!(failed <= accepted, "{failed} failed on {accepted} connections: {}", run.json["failures"]);
        // With pauses of 1, 2, 4 … ms there were some sixty.
        let figures = format!("{completed} completed, {failed} failed on {accepted} connections");
        held(completed > 1_000 && completed + 50 > accepted, figures)
    });
}

#[test]
fn without_a_request_that_is_due_nothing_connects_anew() {
    let server = Server::start(|stream, _| {
        let _ = stream.write_all(OK);
        false
    });
    let run = run(&format!("-t1 -c10 -R 5 -n 5 --timeout 10s {}", server.url("/")));
    assert_eq!(run.count("/requests/completed"), 5, "{}", run.json["requests"]);
    let accepted = server.accepted.load(Ordering::SeqCst);
    assert!((10..=16).contains(&accepted), "ten at the start, one to see who listens: {accepted}");
}

#[test]
fn a_time_out_makes_room_for_the_next_request() {
    agrees(|| {
        let server = Server::start(|stream, seen| {
            if seen.number % 20 == 19 {
                std::thread::sleep(crate::support::LONGER_THAN_A_RUN);
                return false;
            }
            stream.write_all(OK).is_ok()
        });
        for rate in ["-R 200", ""] {
            let run = run(&format!("-t1 -c4 {rate} -d 2s --timeout 100ms {}", server.url("/")));
            run.assert_nothing_vanished();
            let last = run.count("/intervals/1/completed");
            let (failed, timed_out) = (run.count("/requests/failed"), run.count("/errors/timeout"));
            assert_eq!(failed, timed_out, "{}", run.json["failures"]);
            held(last >= 50 && timed_out > 0, format!("{last} completed in the last second, {timed_out} time-outs"))?;
        }
        Ok(())
    });
}

#[test]
fn requests_behind_a_response_that_never_comes_are_counted_and_the_remedy_is_named() {
    let server = || {
        Server::start(|stream, seen| {
            if seen.number % 50 == 49 {
                std::thread::sleep(crate::support::LONGER_THAN_A_RUN);
                return false;
            }
            stream.write_all(OK).is_ok()
        })
    };
    agrees(|| {
        let load = |flags: &str, server: &Server| {
            run(&format!("-t1 -c16 -R 400 -d 2s --timeout 10s --drain 100ms {flags} {}", server.url("/")))
        };
        let run = load("", &server());
        run.assert_nothing_vanished();
        let unsent = run.count("/requests/unsent");
        assert!(unsent > 100, "{}", run.json["requests"]);
        assert_eq!(run.code, Some(4));
        assert!(
            run.json["shortfall"].as_str().is_some_and(|text| text.contains("never sent")),
            "{}",
            run.json["shortfall"]
        );
        assert!(run.stderr.contains("--queue shared"), "{}", run.stderr);
        let waited = run.count("/waited_for_connection_us/count");
        assert!(waited >= unsent && run.number("/waited_for_connection_us/max") > 500_000.0, "{}", run.json);
        let shared = load("--queue shared", &server());
        held(shared.count("/requests/unsent") < unsent, format!("{unsent} and {}", shared.json["requests"]))
    });
}
