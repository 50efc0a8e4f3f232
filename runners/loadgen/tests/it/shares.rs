//! Several generators that share one schedule, from one agreed instant on.

use crate::support::requests_log::read;
use crate::support::{OK, Run, Scratch, Server, finish, run, spawn};
use std::io::Write;
use std::process::Child;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time for the connections of all generators to stand, on a machine that is busy too.
const AHEAD: Duration = Duration::from_secs(3);

fn unix_ns(ahead: Duration) -> u64 {
    (SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970") + ahead).as_nanos() as u64
}

/// Runs `of` generators of one load side by side; gives their reports and their logs of requests.
fn together(line: &str, of: usize) -> (Vec<Run>, Scratch) {
    let (scratch, start) = (Scratch::new(), unix_ns(AHEAD));
    let file = |index: usize, name: &str| scratch.0.join(format!("{index}.{name}"));
    let begun: Vec<Child> = (1..=of)
        .map(|index| {
            let (json, pairs) = (file(index, "json"), file(index, "requests"));
            let own = format!(
                "--share {index}/{of} --start-at {start} --json {} --requests-log {} {line}",
                json.display(),
                pairs.display()
            );
            spawn(&own.split_whitespace().collect::<Vec<_>>())
        })
        .collect();
    let runs = begun.into_iter().enumerate().map(|(index, child)| finish(child, &file(index + 1, "json"))).collect();
    (runs, scratch)
}

#[test]
fn generators_send_each_slot_of_one_schedule_once_from_one_instant_on() {
    let (server_a, server_b) = (Server::ok(), Server::ok());
    let targets = format!("--seed 5 --target a={} --target b={}", server_a.url("/"), server_b.url("/"));
    for (target, targets_of) in [(server_a.url("/"), 1), (targets, 2)] {
        let (runs, scratch) = together(&format!("-t1 -c2 -R 300 --warmup 100ms -d 1s {target}"), 3);
        let mut sent = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            run.assert_nothing_vanished();
            assert_eq!(run.json["share"], format!("{}/3", index + 1));
            assert_eq!(run.number("/offered_rps"), 100.0);
            let apart_us = run.count("/start_unix_us").abs_diff(runs[0].count("/start_unix_us"));
            assert!(apart_us < 1_000, "the windows begin {apart_us} us apart");
            let (_, rows) = read(&scratch.0.join(format!("{}.requests", index + 1)));
            // With two targets each deals out its own slots, and the window is no whole number of blocks of their order.
            assert!(rows.len().abs_diff(100) < 2 * targets_of, "{} requests", rows.len());
            sent.extend(rows.into_iter().map(|row| (row.slot, row.intended_ns, row.target)));
        }
        sent.sort_unstable();
        let (whole, scratch) = together(&format!("-t1 -c6 -R 300 --warmup 100ms -d 1s {target}"), 1);
        assert_eq!(whole[0].json["share"], serde_json::Value::Null, "a share of 1/1 is the whole");
        let (_, rows) = read(&scratch.0.join("1.requests"));
        let alone: Vec<_> = rows.into_iter().map(|row| (row.slot, row.intended_ns, row.target)).collect();
        assert_eq!(sent, alone, "{targets_of} targets");
    }
}

#[test]
fn an_instant_that_has_passed_is_refused_and_nothing_is_sent() {
    let server = Server::ok();
    let past = unix_ns(Duration::ZERO) - 1_500_000_000;
    let run = run(&format!("-R 100 -d 1s --start-at {past} {}", server.url("/")));
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--start-at") && run.stderr.contains("a later one"), "{}", run.stderr);
    assert!(server.lines().is_empty());
}

#[test]
fn nothing_is_sent_before_the_instant() {
    let begun = std::time::Instant::now();
    let server = Server::start(move |stream, _| stream.write_all(OK).is_ok());
    let run = run(&format!("-R 100 -d 300ms --start-at {} {}", unix_ns(AHEAD), server.url("/")));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let first = server.seen.lock().unwrap().iter().map(|seen| seen.at).min().expect("requests");
    let waited = first.duration_since(begun);
    assert!(waited >= AHEAD - Duration::from_millis(10), "{waited:?}");
}
