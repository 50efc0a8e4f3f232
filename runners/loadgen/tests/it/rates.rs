//! What was asked for is what is sent, and it is all there in every report.

use crate::support::{OK, Scratch, Server, agrees, finish, held, hlog, run, spawn};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

#[test]
fn open_loop_sends_exactly_the_offered_rate() {
    agrees(|| {
        let server = Server::ok();
        let run = run(&format!("-t2 -c5 -R 2000 -d 2s --warmup 500ms {}", server.url("/x")));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let of = |name: &str| run.count(&format!("/requests/{name}"));
        assert_eq!(of("scheduled"), 4000);
        assert_eq!(of("warmup_sent") + of("warmup_unsent"), 1000);
        run.assert_nothing_vanished();
        // What gets its response too late to be counted is the machine's doing; what is counted was sent.
        held((of("completed"), of("warmup_completed")) == (4000, 1000), &run.json["requests"])?;
        held((run.number("/achieved_rps") - 2000.0).abs() < 100.0, run.number("/achieved_rps"))?;
        assert_eq!(run.count("/status/200"), 4000);
        assert_eq!(run.count("/bytes/read"), 4000 * OK.len() as u64 + late_warmup_bytes(&run));
        assert_eq!(server.lines().len(), 5000);
        assert_eq!(
            server.accepted.load(std::sync::atomic::Ordering::SeqCst),
            6,
            "five connections and the first probe"
        );
        Ok(())
    });
}

/// A response to a request of the warm-up may come when the window has begun, and is read in it.
fn late_warmup_bytes(run: &crate::support::Run) -> u64 {
    let surplus = run.count("/bytes/read") - 4000 * OK.len() as u64;
    assert!(surplus <= 5 * OK.len() as u64, "{surplus}");
    surplus
}

#[test]
fn reports_agree_with_each_other() {
    agrees(|| {
        let server = Server::ok();
        let scratch = Scratch::new();
        let (json, log) = (scratch.0.join("out.json"), scratch.0.join("out.hlog"));
        let url = server.url("/");
        let run = finish(
            spawn(&[
                "-t2",
                "-c4",
                "-R1000",
                "-d2500ms",
                "-L",
                "-U",
                "--summary",
                "--json",
                json.to_str().unwrap(),
                "--hlog",
                log.to_str().unwrap(),
                &url,
            ]),
            &json,
        );
        let total = run.count("/requests/completed");
        held(total == 2500, &run.json["requests"])?;
        let intervals = run.json["intervals"].as_array().unwrap();
        assert_eq!(intervals.len(), 3);
        let sum = |field: &str| intervals.iter().map(|interval| interval[field].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("sent"), sum("completed"), sum("errors")), (total, total, 0));
        for kind in ["response", "service"] {
            assert_eq!(run.count(&format!("/latency_us/{kind}/count")), total);
            let spectrum = run.json["spectrum"][kind].as_array().unwrap();
            assert_eq!(spectrum.last().unwrap()[2].as_u64(), Some(total));
            assert_eq!(spectrum.last().unwrap()[1].as_f64(), Some(1.0));
        }
        assert!(run.number("/latency_us/service/p50") <= run.number("/latency_us/response/p50"));
        for text in [
            "Running 2.50s test @ ",
            "  2 threads and 4 connections",
            "  Thread Stats",
            "(HdrHistogram - Recorded Latency)",
            "(HdrHistogram - Uncorrected Latency",
            "#[Mean    =",
            "  2500 requests in 2.",
            "Requests/sec:",
            "Transfer/sec:",
            "truepace: lag p50",
        ] {
            assert!(run.stdout.contains(text), "{text} is missing in\n{}", run.stdout);
        }
        assert_eq!(logged(&log), BTreeMap::from([("response".into(), total), ("service".into(), total)]));
        Ok(())
    });
}

/// Requests by tag.
fn logged(log: &Path) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in hlog::read(log) {
        *counts.entry(line.tag).or_default() += line.times_ns.len();
    }
    counts
}

#[test]
fn closed_loop_keeps_every_connection_busy() {
    let server = Server::ok();
    let run = run(&format!("-t2 -c4 -d 1s {}", server.url("/")));
    assert_eq!(run.json["mode"], "closed");
    assert!(run.json["offered_rps"].is_null() && run.json["arrival"].is_null());
    assert!(run.count("/requests/completed") > 100, "{}", run.json["requests"]);
    assert_eq!(run.number("/latency_us/response/p50"), run.number("/latency_us/service/p50"));
    run.assert_nothing_vanished();
}

#[test]
fn a_number_of_requests_is_kept_exactly() {
    let server = Server::ok();
    for (line, count) in [
        ("-t2 -c3 -n 1001", 1001),
        ("-t1 -c1 -n 1", 1),
        ("-t2 -c7 -R 5000 -n 1003", 1003),
        ("-t1 -c4 -n 3", 3),
        ("-t1 -c2 -n 50 --warmup 1s -R 2000", 50),
    ] {
        let before = server.lines().len();
        let run = run(&format!("{line} {}", server.url("/")));
        assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
        assert_eq!(server.lines().len() - before, count, "{line}");
        assert_eq!(run.count("/requests/sent") + run.count("/requests/warmup_sent"), count as u64, "{line}");
    }
}

#[test]
fn poisson_arrivals_ramps_and_steps_offer_their_rate() {
    let server = Server::ok();
    for line in ["-R 1000 --arrival poisson", "-R 0:2000", "-R 500,1500", "--io portable -R 1000"] {
        let run = run(&format!("-t1 -c4 -d 1s {line} {}", server.url("/")));
        run.assert_nothing_vanished();
        // Poisson: three standard deviations of 1000 are 95.
        assert!(run.count("/requests/scheduled").abs_diff(1000) <= 100, "{line}: {}", run.json["requests"]);
    }
}

#[test]
fn ipv6_is_spoken() {
    let Ok(server) = Server::on("[::1]:0", |stream, _| stream.write_all(OK).is_ok()) else {
        eprintln!("skipped: this machine has no IPv6 loopback");
        return;
    };
    let run = run(&format!("-t1 -c1 -R 200 -n 100 --timeout 10s {}", server.url("/six")));
    assert_eq!(run.count("/requests/completed"), 100);
    let host = server.seen.lock().unwrap()[0].header("host").map(str::to_owned);
    assert_eq!(host, Some(server.address.to_string()));
}

#[test]
fn the_command_line_reaches_the_wire() {
    let server = Server::ok();
    let scratch = Scratch::new();
    let json = scratch.0.join("out.json");
    let url = server.url("/path?a=b");
    finish(
        spawn(&["-c1", "-n1", "-H", "X-One: 1", "-H", "Host: other", "--json", json.to_str().unwrap(), &url]),
        &json,
    );
    let seen = server.seen.lock().unwrap()[0].clone();
    assert_eq!(seen.line, "GET /path?a=b HTTP/1.1");
    assert_eq!((seen.header("x-one"), seen.header("host")), (Some("1"), Some("other")));
}
