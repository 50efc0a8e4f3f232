//! One schedule shared out over several targets.

use crate::support::requests_log::{Row, read};
use crate::support::{OK, Run, Scratch, Server, agrees, held, run};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

fn slow(ms: u64) -> Server {
    Server::start(move |stream, _| {
        std::thread::sleep(Duration::from_millis(ms));
        stream.write_all(OK).is_ok()
    })
}

fn of<'a>(run: &'a Run, target: usize, pointer: &str) -> &'a serde_json::Value {
    run.json["targets"][target]
        .pointer(pointer)
        .unwrap_or_else(|| panic!("{pointer} in {}", run.json["targets"][target]))
}

#[test]
fn each_target_has_its_share_and_follows_each_as_often() {
    let (server_a, server_b) = (Server::ok(), Server::ok());
    let scratch = Scratch::new();
    let file = scratch.0.join("requests");
    let line = |seed: u32| {
        format!(
            "-t1 -c2 -R 640 -n 640 --seed {seed} --pairs {} --target a={} --target b={}",
            file.display(),
            server_a.url("/"),
            server_b.url("/")
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
        assert!(pair[0].intended_ns < pair[1].intended_ns && pair[1].response_ns() > 0);
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

/// How many requests the quick target gets before the other responds to its first one.
const AHEAD: usize = 40;

#[test]
fn a_target_that_does_not_respond_keeps_no_request_from_another() {
    for (queue, threads) in [("connection", 1), ("shared", 1), ("connection", 2)] {
        let quick = Server::ok();
        let (seen, patience) = (quick.seen.clone(), Duration::from_secs(10));
        // It responds only once the other target has had so many requests: were they to wait for it, none would come.
        let slow = Server::start(move |stream, _| {
            let begun = Instant::now();
            while seen.lock().expect("a list").len() < AHEAD && begun.elapsed() < patience {
                std::thread::sleep(Duration::from_millis(1));
            }
            seen.lock().expect("a list").len() >= AHEAD && stream.write_all(OK).is_ok()
        });
        let targets = format!("--target quick={} --target slow={}", quick.url("/"), slow.url("/"));
        let line = format!("-t{threads} -c{threads} -R 400 -n 200 -T 15s --queue {queue} {targets}");
        let run = run(&line);
        run.assert_nothing_vanished();
        assert_eq!(run.count("/requests/completed"), 200, "{line}: {}", run.json["requests"]);
        assert!(quick.lines().len() > AHEAD, "{line}");
    }
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_sleep_in_one_target_leaves_the_lag_of_the_other_as_it_was() {
    agrees(|| {
        let while_other = |other: Server| {
            let quick = Server::ok();
            let targets = format!("--target quick={} --target other={}", quick.url("/"), other.url("/"));
            let run = run(&format!("-t1 -c8 -R 200 -d 1500ms {targets}"));
            run.assert_nothing_vanished();
            let number = |target, pointer: &str| of(&run, target, pointer).as_f64().expect("a number");
            let quick = (number(0, "/generator/lag_us/p99"), number(0, "/latency_us/response/p90"));
            (quick, number(1, "/latency_us/response/p50"))
        };
        let ((lag_alike, _), _) = while_other(Server::ok());
        let ((lag_us, response_us), slept_us) = while_other(slow(50));
        let measured =
            format!("lag {lag_us} with a sleep, {lag_alike} without; response {response_us}, slept {slept_us}");
        // A send that waited for the other target would be late by its 50 ms.
        held(lag_us < lag_alike + 2_000.0 && response_us < 20_000.0 && slept_us > 50_000.0, measured)
    });
}

#[test]
fn a_planted_difference_is_in_the_ratio_and_outside_of_it_in_a_report() {
    let (quick, slow) = (slow(2), slow(20));
    agrees(|| {
        let run = run(&format!("-t1 -c4 -R 200 -d 4s --target a={} --target b={}", quick.url("/"), slow.url("/")));
        let ratios = run.json["comparison"]["ratios"].as_array().expect("ratios");
        let median =
            ratios.iter().find(|ratio| ratio["quantity"] == "service" && ratio["percent"] == 50.0).expect("a median");
        assert_eq!((&median["target"], &median["baseline"]), (&"b".into(), &"a".into()));
        let low = median["interval_95"][0].as_f64().expect("an interval");
        assert!(run.stdout.contains("b over a, service p50: "), "{}", run.stdout);
        assert!(run.stdout.contains("b after a: service p50 "), "{}", run.stdout);
        held(low > 1.2, median)
    });
}

#[test]
fn by_slices_one_target_is_loaded_and_the_others_are_idle() {
    let (server_a, server_b) = (Server::ok(), Server::ok());
    let scratch = Scratch::new();
    let file = scratch.0.join("requests");
    let run = run(&format!(
        "-t1 -c2 -R 500 -d 2s --interleave slice=100ms --requests-log {} --target a={} --target b={}",
        file.display(),
        server_a.url("/"),
        server_b.url("/")
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
    let (server_a, server_b) = (Server::ok(), Server::ok());
    let targets = format!("--target a={} --target b={}", server_a.url("/"), server_b.url("/"));
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
fn what_comes_when_another_target_is_loaded_is_no_part_of_what_a_target_achieved() {
    let servers = [slow(20), slow(20)];
    let targets = format!("--target a={} --target b={}", servers[0].url("/"), servers[1].url("/"));
    let run = run(&format!("-t1 -c2 -d 2s --interleave slice=50ms {targets}"));
    for target in 0..2 {
        let number = |pointer: &str| of(&run, target, pointer).as_f64().expect("a number");
        let (completed, after) = (number("/requests/completed"), number("/requests/completed_after_slice"));
        let (loaded_s, achieved_rps) = (number("/loaded_s"), number("/achieved_rps"));
        assert!(after >= 2.0, "{}", run.json["targets"]);
        assert!((achieved_rps * loaded_s - (completed - after)).abs() < 1e-6, "{}", run.json["targets"]);
        // Two connections, each busy for 20 ms a request.
        assert!(achieved_rps <= 101.0, "{achieved_rps}");
    }
    let open = crate::support::run(&format!("-t1 -c2 -R 50 -d 1s --interleave slice=50ms {targets}"));
    assert_eq!(of(&open, 0, "/requests/completed_after_slice"), 0, "an open loop keeps its schedule");
}

#[test]
fn weights_share_the_schedule_and_operations_are_distinguished() {
    let servers = [Server::ok(), Server::ok(), Server::ok()];
    let scratch = Scratch::new();
    let script = scratch.file(
        "tags.lua",
        "local n = 0\nfunction request()\n n = n + 1\n wrk.tag = n % 2 == 0 and 'PUT' or 'GET'\n return wrk.format()\nend\n",
    );
    let (log, requests) = (scratch.0.join("out.hlog"), scratch.0.join("requests"));
    let (hgrm, stale) = (scratch.0.join("out.hgrm"), scratch.file("out.hgrm.b:OLD", "of an earlier run"));
    let run = run(&format!(
        "-t1 -c1 -R 968 -n 968 --weights 1:1:0.2 --hgrm {} --hlog {} --pairs {} --target a={} --target b={},script={} --target floor={}",
        hgrm.display(),
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
    for table in ["out.hgrm:PUT", "out.hgrm.service:GET", "out.hgrm.b:PUT", "out.hgrm.b.service:GET"] {
        let text = std::fs::read_to_string(scratch.0.join(table)).expect(table);
        assert!(text.contains("Total count    =          220]"), "{table}: {text}");
    }
    assert!(!stale.exists() && !scratch.0.join("out.hgrm.a:PUT").exists());
    for line in ["truepace: b: PUT response time p50 ", "truepace: b: GET response time p50 "] {
        assert!(run.stdout.contains(line), "'{line}' is missing in {}", run.stdout);
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
