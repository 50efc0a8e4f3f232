//! One schedule shared out over several targets.

use crate::support::{OK, Run, Scratch, Server, agrees, held, run};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

fn slow(ms: u64) -> Server {
    Server::start(move |stream, _| {
        std::thread::sleep(Duration::from_millis(ms));
        stream.write_all(OK).is_ok()
    })
}

/// A row of the log of requests, as far as the tests look at it.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    slot: u64,
    intended_ns: u64,
    response_ns: u64,
    status: u16,
    target: u8,
    predecessor: u8,
    tag: u8,
    fate: u8,
}

/// Reads a log of requests as `docs/requests.md` describes it: the last description, and all rows by slot.
fn read(path: &std::path::Path) -> (serde_json::Value, Vec<Row>) {
    let bytes = std::fs::read(path).expect("a log");
    assert_eq!(&bytes[..8], b"LGREQS\x01\n");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut description, mut rows) = (8, serde_json::Value::Null, Vec::new());
    while at < bytes.len() {
        let (kind, length) = (number(at), number(at + 4) as usize);
        let block = &bytes[at + 8..at + 8 + length];
        match kind {
            1 => description = serde_json::from_slice(block).expect("JSON"),
            2 => rows.extend(block.chunks_exact(56).map(row)),
            other => panic!("a block of kind {other}"),
        }
        at += 8 + length;
    }
    rows.sort_by_key(|row| row.slot);
    (description, rows)
}

fn row(bytes: &[u8]) -> Row {
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Row {
        slot: long(0),
        intended_ns: long(8),
        response_ns: long(16) + long(24),
        status: u16::from_le_bytes([bytes[48], bytes[49]]),
        target: bytes[50],
        predecessor: bytes[51],
        tag: bytes[52],
        fate: bytes[53],
    }
}

fn of<'a>(run: &'a Run, target: usize, pointer: &str) -> &'a serde_json::Value {
    run.json["targets"][target]
        .pointer(pointer)
        .unwrap_or_else(|| panic!("{pointer} in {}", run.json["targets"][target]))
}

#[test]
fn each_target_has_its_share_and_follows_each_as_often() {
    let (one, other) = (Server::ok(), Server::ok());
    let scratch = Scratch::new();
    let file = scratch.0.join("requests");
    let line = |seed: u32| {
        format!(
            "-t1 -c2 -R 640 -d 1s --seed {seed} --pairs {} --target a={} --target b={}",
            file.display(),
            one.url("/"),
            other.url("/")
        )
    };
    let first = run(&line(3));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    first.assert_nothing_vanished();
    assert_eq!(of(&first, 0, "/requests/scheduled"), 320);
    assert_eq!(of(&first, 1, "/requests/scheduled"), 320);
    assert_eq!((of(&first, 1, "/name"), of(&first, 1, "/offered_rps")), (&"b".into(), &320.0.into()));
    let (description, rows) = read(&file);
    assert_eq!(description["targets"], serde_json::json!(["a", "b"]));
    assert_eq!(rows.len(), 640, "every request, one by one");
    assert!(rows.iter().enumerate().all(|(index, row)| row.slot == index as u64 && row.fate == 0 && row.status == 200));
    let mut follows = BTreeMap::new();
    for pair in rows.windows(2) {
        assert_eq!(pair[1].predecessor, pair[0].target);
        assert!(pair[0].intended_ns < pair[1].intended_ns && pair[1].response_ns > 0);
        *follows.entry((pair[0].target, pair[1].target)).or_insert(0) += 1;
    }
    // Each of ten blocks has each succession sixteen times; the very last is not in the log.
    assert!(follows.values().all(|count| (159..=160).contains(count)) && follows.len() == 4, "{follows:?}");
    let order = |rows: &[Row]| rows.iter().map(|row| row.target).collect::<Vec<_>>();
    run(&line(3));
    assert_eq!(order(&read(&file).1), order(&rows), "the seed gives the order");
    run(&line(4));
    assert_ne!(order(&read(&file).1), order(&rows));
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_slow_target_delays_no_send_to_another() {
    agrees(|| {
        let (quick, slow) = (Server::ok(), slow(50));
        let run =
            run(&format!("-t1 -c8 -R 200 -d 1500ms --target quick={} --target slow={}", quick.url("/"), slow.url("/")));
        run.assert_nothing_vanished();
        let (lag, response) = (of(&run, 0, "/generator/lag_us/p99"), of(&run, 0, "/latency_us/response/p90"));
        held(lag.as_f64() < Some(20_000.0) && response.as_f64() < Some(20_000.0), format!("{lag} {response}"))?;
        let slow = of(&run, 1, "/latency_us/response/p50");
        held(slow.as_f64() > Some(50_000.0), slow)
    });
}

#[test]
fn a_planted_difference_is_in_the_ratio_and_outside_of_it_in_a_report() {
    let (quick, slow) = (slow(2), slow(20));
    let run = run(&format!("-t1 -c4 -R 200 -d 4s --target a={} --target b={}", quick.url("/"), slow.url("/")));
    let ratios = run.json["comparison"]["ratios"].as_array().expect("ratios");
    let median = ratios.iter().find(|one| one["quantity"] == "service" && one["percent"] == 50.0).expect("a median");
    assert_eq!((&median["target"], &median["baseline"]), (&"b".into(), &"a".into()));
    let low = median["interval_95"][0].as_f64().expect("an interval");
    assert!(low > 1.2, "{median}");
    assert!(run.stdout.contains("b over a, service p50: "), "{}", run.stdout);
    assert!(run.stdout.contains("b after a: service p50 "), "{}", run.stdout);
}

#[test]
fn by_slices_one_target_is_loaded_and_the_others_are_idle() {
    let (one, other) = (Server::ok(), Server::ok());
    let scratch = Scratch::new();
    let file = scratch.0.join("requests");
    let run = run(&format!(
        "-t1 -c2 -R 500 -d 2s --interleave slice=100ms --requests-log {} --target a={} --target b={}",
        file.display(),
        one.url("/"),
        other.url("/")
    ));
    run.assert_nothing_vanished();
    let (description, rows) = read(&file);
    assert_eq!((rows.len(), &description["block_slots"]), (1000, &serde_json::Value::Null));
    let mut slices: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for row in &rows {
        slices.entry(row.intended_ns / 100_000_000).or_default().push(row.target);
    }
    assert!(slices.values().all(|targets| targets.iter().all(|target| *target == targets[0])));
    let loaded: Vec<_> = slices.values().map(|targets| targets[0]).collect();
    assert_eq!(loaded.iter().filter(|target| **target == 0).count(), 10, "{loaded:?}");
    assert!(loaded.windows(2).any(|pair| pair[0] == pair[1]), "the order is random: {loaded:?}");
    assert_eq!((of(&run, 0, "/loaded_s"), of(&run, 0, "/offered_rps")), (&1.0.into(), &500.0.into()));
}

#[test]
fn a_closed_loop_goes_by_slices_only_and_each_target_has_its_own() {
    let (one, other) = (Server::ok(), Server::ok());
    let targets = format!("--target a={} --target b={}", one.url("/"), other.url("/"));
    let by_request = run(&format!("-t1 -c2 -d 500ms {targets}"));
    assert_eq!(by_request.code, Some(1));
    assert!(by_request.stderr.contains("--interleave slice"), "{}", by_request.stderr);
    for how in ["slice=50ms", "none"] {
        let run = run(&format!("-t1 -c2 -d 1s --interleave {how} {targets}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for target in 0..2 {
            assert!(of(&run, target, "/requests/completed").as_u64() > Some(50), "{how}: {}", run.json["targets"]);
            assert!((of(&run, target, "/loaded_s").as_f64().expect("seconds") - 0.5).abs() < 0.051);
        }
        assert!(run.stdout.contains("1 threads and 2 connections to each"), "{}", run.stdout);
        // One after the other, no stretch of time holds both.
        assert_eq!(run.json["comparison"]["stretch_s"].is_null(), how == "none", "{}", run.json["comparison"]);
        assert_eq!(run.stdout.contains("each was loaded in a time of its own"), how == "none", "{}", run.stdout);
    }
}

#[test]
fn weights_share_the_schedule_and_operations_are_told_apart() {
    let servers = [Server::ok(), Server::ok(), Server::ok()];
    let scratch = Scratch::new();
    let script = scratch.file(
        "tags.lua",
        "local n = 0\nfunction request()\n n = n + 1\n wrk.tag = n % 2 == 0 and 'PUT' or 'GET'\n return wrk.format()\nend\n",
    );
    let (log, requests) = (scratch.0.join("out.hlog"), scratch.0.join("requests"));
    let run = run(&format!(
        "-t1 -c1 -R 968 -d 1s --weights 1:1:0.2 --hlog {} --pairs {} --target a={} --target b={},script={} --target floor={}",
        log.display(),
        requests.display(),
        servers[0].url("/"),
        servers[1].url("/"),
        script.display(),
        servers[2].url("/")
    ));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let scheduled: Vec<_> = (0..3).map(|target| of(&run, target, "/requests/scheduled").as_u64()).collect();
    assert_eq!(scheduled, [Some(440), Some(440), Some(88)], "eight blocks of 121 slots");
    let operations = &run.json["targets"][1]["latency_us_by_operation"];
    assert_eq!(operations["PUT"]["response"]["count"], 220, "{operations}");
    assert_eq!(run.json["targets"][0]["latency_us_by_operation"], serde_json::json!({}));
    let text = std::fs::read_to_string(log).expect("a log");
    for tag in ["Tag=response@a,", "Tag=service@floor,", "Tag=response:PUT@b,"] {
        assert!(text.contains(tag), "{tag}");
    }
    let (description, rows) = read(&requests);
    let tags = description["tags"].as_array().expect("names");
    assert_eq!(tags.len(), 2);
    let tagged = |name: &str| {
        let number = 1 + tags.iter().position(|tag| tag == name).expect("a name") as u8;
        rows.iter().filter(|row| row.tag == number && row.target == 1).count()
    };
    assert_eq!((tagged("PUT"), tagged("GET")), (220, 220));
}
