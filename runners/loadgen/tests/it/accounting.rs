//! Nothing vanishes, and nothing is counted as what it is not: failures, late sends, warm-ups, the end of a run.

use crate::support::requests_log;
use crate::support::{LONGER_THAN_A_RUN, OK, Run, Scratch, Server, agrees, finish, held, hlog, run, spawn};
use std::io::Write;
use std::time::Duration;

fn with_script(text: &str, rest: &str, server: &Server) -> Run {
    let scratch = Scratch::new();
    let file = scratch.file("case.lua", text);
    run(&format!("-s {} {rest} {}", file.display(), server.url("/")))
}

#[test]
fn a_ramp_to_zero_ends() {
    let server = Server::ok();
    for arrival in ["constant", "poisson -c1 -t1"] {
        let run = run(&format!("-R 1000:0 -d 500ms -c10 --arrival {arrival} {}", server.url("/")));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.assert_nothing_vanished();
        let scheduled = run.count("/requests/scheduled");
        // 250 are the triangle's area; independent arrivals spread around that by 16.
        let expected = if arrival == "constant" { 250..=250 } else { 150..=350 };
        assert!(expected.contains(&scheduled), "{arrival}: {scheduled}");
    }
}

#[test]
fn a_script_that_fails_in_mid_run_ends_it_but_every_report_is_written() {
    let scratch = Scratch::new();
    let log = scratch.0.join("out.hlog");
    let text =
        "local n = 0\nfunction request()\n n = n + 1\n if n > 50 then error('enough') end\n return wrk.format()\nend\n";
    let run = with_script(text, &format!("-t1 -c1 -R 200 -d 60s --hlog {}", log.display()), &Server::ok());
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    run.assert_nothing_vanished();
    // One request is made before the run, to see what it is.
    assert!((49..=50).contains(&run.count("/requests/completed")), "{}", run.json["requests"]);
    let failure = run.json["failure"].as_str().expect("a failure");
    assert!(failure.contains("line 4") && failure.contains("enough"), "{failure}");
    assert!(run.stderr.contains("enough"), "{}", run.stderr);
    assert!(std::fs::read_to_string(log).expect("a log").contains("Tag=response,"));
}

#[test]
fn a_script_may_give_nothing_after_it_has_stopped_its_thread() {
    let text = "local n = 0\nfunction request()\n n = n + 1\n if n > 20 then wrk.thread:stop() return nil end\n return wrk.format()\nend\n";
    for load in ["-R 200", "-R 200 --queue shared", ""] {
        let run = with_script(text, &format!("-t1 -c1 {load} -d 60s"), &Server::ok());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.json["failure"], serde_json::Value::Null);
        run.assert_nothing_vanished();
        assert_eq!(run.count("/requests/unsent"), 0, "what the script did not give was no request: {load}");
        assert!((18..=21).contains(&run.count("/requests/completed")), "{}", run.json["requests"]);
    }
}

#[test]
fn pipelined_requests_keep_the_rate_and_each_has_its_response() {
    let text = "local n = 0\nfunction request()\n n = n + 1\n if n < 20 then return wrk.format() end\n return wrk.format('GET', '/a') .. wrk.format('HEAD', '/b') .. wrk.format('GET', '/c')\nend\n";
    let server = Server::start(|stream, seen| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
        stream.write_all(if seen.line.starts_with("HEAD") { head } else { OK }).is_ok()
    });
    let run = with_script(text, "-t1 -c2 -R 300 -d 1s", &server);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.assert_nothing_vanished();
    assert_eq!(run.number("/errors/read") + run.number("/errors/parse"), 0.0, "{}", run.json["errors"]);
    // 300 slots; the last three requests may take slots beyond the end.
    assert!((296..=304).contains(&run.count("/requests/completed")), "{}", run.json["requests"]);
    assert_eq!(run.count("/latency_us/response/count"), run.count("/requests/scheduled"));
    let lines = server.lines();
    let of = |path: &str| lines.iter().filter(|line| line.contains(path)).count();
    assert!(of("/a") > 80 && of("/a") == of("/b") && of("/b") == of("/c"), "{} {} {}", of("/a"), of("/b"), of("/c"));
    let batch = with_script(text, "-t1 -c2 -R 300 -d 1s -B", &server);
    let (timed, completed) = (batch.count("/latency_us/response/count"), batch.count("/requests/completed"));
    assert!(timed < completed / 2, "only the last of each batch is timed: {timed} of {completed}");
}

#[test]
fn a_connection_that_breaks_within_a_batch_fails_those_without_response() {
    let text = "function request() return wrk.format() .. wrk.format() .. wrk.format() end\n";
    let server = Server::start(|stream, seen| seen.number % 3 < 1 && stream.write_all(OK).is_ok());
    let run = with_script(text, "-t1 -c1 -R 60 -d 1s", &server);
    run.assert_nothing_vanished();
    let (completed, failed) = (run.count("/requests/completed"), run.count("/requests/failed"));
    assert!(completed > 0 && failed > completed, "{completed} {failed}");
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_of_the_generator_is_in_the_lag_of_every_request_that_it_delayed() {
    agrees(|| {
        let server = Server::ok();
        let scratch = Scratch::new();
        let json = scratch.0.join("out.json");
        let line = format!("-t1 -c1 -R 1000 -d 3s --json {} {}", json.display(), server.url("/"));
        let child = spawn(&line.split(' ').collect::<Vec<_>>());
        let id = i32::try_from(child.id()).expect("a process number");
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(700));
            signal(id, libc::SIGSTOP);
            std::thread::sleep(Duration::from_millis(300));
            signal(id, libc::SIGCONT);
        }
        let run = finish(child, &json);
        // 600 of 3000 requests were due within the freezes, evenly: of the latest tenth the first was 150 ms late.
        let (median_us, p90_us, max_us) = (
            run.number("/generator/lag_us/p50"),
            run.number("/generator/lag_us/p90"),
            run.number("/generator/lag_us/max"),
        );
        held(run.count("/generator/lag_us/count") == 3000, &run.json["requests"])?;
        held((120_000.0..200_000.0).contains(&p90_us), format!("p90 {p90_us}"))?;
        held(max_us >= 295_000.0 && median_us < 20_000.0, format!("max {max_us}, p50 {median_us}"))?;
        held(run.json["generator"]["kept_up"] == false, &run.json["generator"])
    });
}

/// Responds at once, but request 200 only after 400 ms, and closes where `closes` says so.
fn stalling(closes: fn(u64) -> bool) -> Server {
    Server::start(move |stream, seen| {
        if seen.number == 200 {
            std::thread::sleep(Duration::from_millis(400));
        }
        let last = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        let closing = closes(seen.number);
        stream.write_all(if closing { last } else { OK }).is_ok() && !closing
    })
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn what_waited_for_a_server_that_closed_is_no_lag_after_the_reconnect() {
    agrees(|| {
        let server = stalling(|number| number == 200);
        let run = run(&format!("-t1 -c1 -R 500 -d 1s {}", server.url("/")));
        run.assert_nothing_vanished();
        held(run.count("/reconnects") == 1 && run.count("/requests/completed") == 500, &run.json["requests"])?;
        // 200 requests were due while the server slept; the wait is theirs, not the generator's lateness.
        held(run.number("/latency_us/response/max") >= 400_000.0, &run.json["latency_us"])?;
        held(run.number("/generator/lag_us/max") < 100_000.0, &run.json["generator"])
    });
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_of_the_generator_stays_lag_where_the_server_closes_after_each_response() {
    agrees(|| {
        let server = stalling(|_| true);
        let scratch = Scratch::new();
        let json = scratch.0.join("out.json");
        let line = format!("-t1 -c1 -R 100 -d 5s --json {} {}", json.display(), server.url("/"));
        let child = spawn(&line.split(' ').collect::<Vec<_>>());
        let id = i32::try_from(child.id()).expect("a process number");
        std::thread::sleep(Duration::from_millis(700));
        signal(id, libc::SIGSTOP);
        std::thread::sleep(Duration::from_millis(600));
        signal(id, libc::SIGCONT);
        let run = finish(child, &json);
        held(run.count("/reconnects") >= 490, &run.json["requests"])?;
        // 60 of 500 requests were due within the freeze, evenly: of the latest tenth the first was 100 ms late. The
        // stall of the server, at request 200, delayed 40 more by none.
        let (p90_us, max_us) = (run.number("/generator/lag_us/p90"), run.number("/generator/lag_us/max"));
        held((60_000.0..160_000.0).contains(&p90_us) && max_us >= 590_000.0, format!("p90 {p90_us}, max {max_us}"))
    });
}

fn signal(process: i32, signal: i32) {
    // SAFETY: sends a signal to a child of ours that has not been waited for.
    unsafe { libc::kill(process, signal) };
}

#[test]
fn a_slow_service_is_awaited_and_its_load_counts_as_achieved() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(Duration::from_millis(600));
        stream.write_all(OK).is_ok()
    });
    // Were the drain part of the time, the rate would be below two thirds of the offered one.
    let run = run(&format!("-t1 -c16 -R 20 -d 1s --timeout 10s --slo achieved=80%,p99=9s {}", server.url("/")));
    assert_eq!(run.code, Some(0), "{}", run.json["objectives"]);
    assert_eq!((run.count("/requests/completed"), run.count("/requests/censored")), (20, 0));
    // What a busy machine sent after the window is no part of the rate.
    assert_eq!(run.number("/achieved_rps"), 20.0 - run.number("/requests/completed_late"));
    assert_eq!(run.json["latency_us"]["response"]["at_least"].to_string(), "[]");
}

#[test]
fn a_bounded_number_of_requests_is_achieved_in_the_time_in_which_it_was_due() {
    let slow = |ms| {
        Server::start(move |stream, _| {
            std::thread::sleep(Duration::from_millis(ms));
            stream.write_all(OK).is_ok()
        })
    };
    let (awaiting, overloaded) = (slow(300), slow(20));
    let awaited = run(&format!("-t1 -c16 -R 20 -n 10 {}", awaiting.url("/")));
    assert_eq!((awaited.count("/requests/completed"), awaited.number("/loaded_s")), (10, 0.5));
    assert_eq!(awaited.number("/achieved_rps"), 20.0 - 2.0 * awaited.number("/requests/completed_late"));
    // One connection carries at most 50/s: five of these fifty leave while they are due, and the others all the same.
    let overload = run(&format!("-t1 -c1 -R 500 -n 50 --slo achieved=99% {}", overloaded.url("/")));
    assert_eq!(
        (overload.count("/requests/completed"), overload.code),
        (50, Some(3)),
        "{}",
        overload.json["objectives"]
    );
    assert!(overload.count("/requests/completed_late") >= 40, "{}", overload.json["requests"]);
    assert!(overload.number("/achieved_rps") <= 100.0, "{}", overload.json["achieved_rps"]);
}

#[test]
fn what_waited_for_its_connection_at_the_end_is_sent_but_not_the_backlog_of_an_overload() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(Duration::from_millis(20));
        stream.write_all(OK).is_ok()
    });
    let short = run(&format!("-t1 -c2 -R 200 -d 100ms {}", server.url("/")));
    short.assert_nothing_vanished();
    assert_eq!(short.count("/requests/completed"), 20, "{}", short.json["requests"]);
    // What was sent late is no part of the rate that was achieved.
    assert!(short.number("/achieved_rps") <= 140.0, "{}", short.json["achieved_rps"]);
    let overload = run(&format!("-t1 -c2 -R 5000 -d 600ms {}", server.url("/")));
    overload.assert_nothing_vanished();
    assert_eq!(overload.count("/requests/completed_late"), 0, "{}", overload.json["requests"]);
    // Sending the backlog as well would take longer than a run may.
    assert!(overload.number("/achieved_rps") <= 110.0, "{}", overload.json["achieved_rps"]);
}

#[test]
fn failed_requests_are_in_the_distribution_and_no_objective_passes_over_them() {
    let server = Server::start(|stream, seen| seen.number % 25 != 24 && stream.write_all(OK).is_ok());
    for bound in ["-d 1s", "-n 200"] {
        let run = run(&format!("-t1 -c4 -R 200 {bound} --slo p99=1s {}", server.url("/")));
        run.assert_nothing_vanished();
        assert!(run.count("/requests/failed") >= 7, "{}", run.json["requests"]);
        assert_eq!(run.count("/latency_us/response/count"), 200);
        assert_eq!(run.count("/latency_us/response/censored"), run.count("/requests/failed"));
        assert_eq!(run.code, Some(3), "{}", run.json["objectives"]);
    }
    let silent = Server::start(|stream, seen| {
        if seen.number % 25 == 24 {
            std::thread::sleep(Duration::from_millis(600));
        }
        stream.write_all(OK).is_ok()
    });
    let run = run(&format!("-t1 -c4 -R 100 -n 100 -T 200ms --slo p99=10s {}", silent.url("/")));
    assert!(run.count("/requests/failed") >= 3 && run.code == Some(3), "{}", run.json["requests"]);
    assert_eq!(run.count("/latency_us/response/count"), 100);
}

#[test]
fn a_warm_up_that_never_ends_is_counted_to_its_last_request() {
    let server = Server::start(|_, _| {
        std::thread::sleep(LONGER_THAN_A_RUN);
        false
    });
    let run = run(&format!("-t1 -c1 -R 100 --warmup 500ms -d 300ms --drain 0s {}", server.url("/")));
    run.assert_nothing_vanished();
    assert_eq!(
        run.count("/requests/warmup_sent") + run.count("/requests/warmup_unsent"),
        50,
        "{}",
        run.json["requests"]
    );
}

#[test]
fn responses_without_a_stamp_are_counted() {
    let server = Server::start(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end");
        false
    });
    let scratch = Scratch::new();
    let [hlog, hgrm, log] = ["hlog", "hgrm", "log"].map(|name| scratch.0.join(name));
    let files = format!("--hlog {} --hgrm {} --requests-log {}", hlog.display(), hgrm.display(), log.display());
    let run = run(&format!("-t1 -c1 -R 50 -d 400ms --receive-clock kernel {files} {}", server.url("/")));
    let unstamped = run.count("/generator/unstamped");
    assert_eq!(unstamped, run.count("/requests/completed"));
    assert!(unstamped >= 15, "{}", run.json["requests"]);
    let reported = format!("{unstamped} of {unstamped} responses had no stamp of the kernel");
    assert!(run.stderr.contains(&reported), "{}", run.stderr);
    for file in [hlog, hgrm.clone(), hgrm.with_file_name("hgrm.service")] {
        let text = std::fs::read_to_string(&file).expect("a report");
        let last = text.lines().last().expect("a line");
        assert!(last.starts_with('#') && last.contains(&reported), "{}: {last}", file.display());
    }
    let rows = requests_log::read(&log).1;
    assert_eq!(rows.iter().filter(|row| row.unstamped).count() as u64, unstamped);
}

#[test]
fn both_clocks_are_shown_where_nothing_was_delayed_on_purpose() {
    let server = Server::ok();
    let of = |clock: &str| run(&format!("-t1 -c1 -R 200 -d 500ms --receive-clock {clock} {}", server.url("/")));
    let user = of("user");
    let by = |run: &Run, clock: &str| run.json["latency_us_by_clock"][clock]["service"]["p50"].as_f64();
    assert_eq!(by(&user, "user"), user.json["latency_us"]["service"]["p50"].as_f64());
    // What a request costs stands under the clock that it was paid for.
    let cpu = &user.json["generator"]["cpu_us_per_request_by_clock"];
    assert!(cpu["user"].as_f64() > Some(0.0) && cpu["kernel"].is_null(), "{cpu}");
    let summary = run(&format!("-t1 -c1 -n 20 --receive-clock user --summary {}", server.url("/")));
    for part in
        ["user clock p50 response ", " of processor time per request with the user clock (with the kernel clock: "]
    {
        assert!(summary.stdout.contains(part), "'{part}' is missing in {}", summary.stdout);
    }
    if cfg!(target_os = "linux") {
        assert!(by(&user, "kernel") <= by(&user, "user"), "{}", user.json["latency_us_by_clock"]);
        let kernel = of("kernel");
        assert_eq!(by(&kernel, "kernel"), kernel.json["latency_us"]["service"]["p50"].as_f64());
        // A worker that was late may have found the next start so near that it left a response unread until then.
        let delayed = kernel.count("/generator/rested") + kernel.count("/generator/held") > 0;
        assert_eq!(by(&kernel, "user").is_none(), delayed, "{}", kernel.json["latency_us_by_clock"]);
    }
    let closed = run(&format!("-t1 -c1 -d 200ms {}", server.url("/")));
    assert_eq!(closed.json["generator"]["receive_clock"], "user");
    let compat = run(&format!("-t1 -c1 -R 100 -d 200ms --wrk-compat {}", server.url("/")));
    assert_eq!(compat.json["generator"]["receive_clock"], "user");
}

#[test]
fn the_histogram_log_keeps_nanoseconds() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(Duration::from_millis(5));
        stream.write_all(OK).is_ok()
    });
    let scratch = Scratch::new();
    let log = scratch.0.join("out.hlog");
    let run = run(&format!("-t1 -c1 -R 50 -d 500ms --hlog {} {}", log.display(), server.url("/")));
    assert!(std::fs::read_to_string(&log).expect("a log").contains("values in nanoseconds"));
    let mut logged = 0;
    for line in hlog::responses(&log).into_iter().filter(|line| !line.times_ns.is_empty()) {
        logged += line.times_ns.len();
        let (least, most) = (line.times_ns.min(), line.times_ns.max() as f64 / 1e6);
        assert!((5_000_000..2_000_000_000).contains(&least), "{least}");
        // The maximum of a line is in milliseconds.
        assert!((line.max_ms - most).abs() < 1e-3 * most, "{}", line.max_ms);
    }
    assert_eq!(logged, run.count("/requests/completed"));
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_shared_queue_lets_any_free_connection_take_the_next_request() {
    agrees(|| {
        let of = |queue: &str| {
            let server = Server::start(|stream, seen| {
                if seen.number == 20 {
                    std::thread::sleep(Duration::from_millis(400));
                }
                stream.write_all(OK).is_ok()
            });
            let run = run(&format!("-t1 -c2 -R 100 -d 1s --queue {queue} {}", server.url("/")));
            run.assert_nothing_vanished();
            assert_eq!(run.count("/requests/completed"), 100, "{}", run.json["requests"]);
            run
        };
        let (own, shared) = (of("connection"), of("shared"));
        // 40 requests were due while one of two connections was busy: half of them, or none but that one.
        let waited = |run: &Run| run.number("/latency_us/response/p90");
        held(waited(&own) > 80_000.0 && waited(&shared) < 80_000.0, format!("{} {}", waited(&own), waited(&shared)))
    });
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn wrk_compat_catches_up_at_twice_the_rate() {
    agrees(|| {
        let in_a_tenth = |more: &str| {
            let server = Server::start(|stream, seen| {
                if seen.number == 20 {
                    std::thread::sleep(Duration::from_millis(500));
                }
                stream.write_all(OK).is_ok()
            });
            run(&format!("-t1 -c1 -R 200 -d 1500ms {more} {}", server.url("/")));
            let seen = server.seen.lock().unwrap();
            // The first of wrk-compat is thrown away before it is sent, so numbers are the same.
            let after = seen[21].at;
            seen[21..].iter().filter(|request| request.at - after < Duration::from_millis(100)).count()
        };
        let (ours, compat) = (in_a_tenth(""), in_a_tenth("--wrk-compat"));
        // 100 requests were behind. At 400/s a tenth of a second holds 40 of them.
        held(ours >= 90 && (25..=50).contains(&compat), format!("{ours} and {compat}"))
    });
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn wrk_compat_counts_its_calibration_but_does_not_time_it() {
    let server = Server::start(|stream, seen| {
        if seen.number < 200 {
            std::thread::sleep(Duration::from_millis(30));
        }
        stream.write_all(OK).is_ok()
    });
    let run = run(&format!("-t1 -c2 -R 50 -d 11s --wrk-compat {}", server.url("/")));
    run.assert_nothing_vanished();
    assert!(run.count("/requests/completed") >= 545, "{}", run.json["requests"]);
    // Ten seconds and 5 ms for each connection are thrown away: 0.99 s are left.
    let timed = run.count("/latency_us/response/count");
    assert!((45..=50).contains(&timed), "{timed}");
    assert!(run.number("/latency_us/service/p50") < 30_000.0, "{}", run.json["latency_us"]["service"]);
    // Half of the calibration's requests took 30 ms and more, the others next to nothing.
    let line = run.stdout.lines().nth(2).expect("a third line");
    let mean_ms = line.strip_prefix("  Thread calibration: mean lat.: ").and_then(|rest| rest.split_once("ms, "));
    let (mean_ms, rest) = mean_ms.unwrap_or_else(|| panic!("no calibration in {}", run.stdout));
    assert_eq!(rest, "rate sampling interval: 1000ms");
    assert!((10.0..300.0).contains(&mean_ms.parse::<f64>().expect("a mean")), "{line}");
}

#[test]
fn lateness_is_known_by_request_and_by_tenth_of_a_second() {
    let server = Server::ok();
    let scratch = Scratch::new();
    let log = scratch.0.join("log");
    let run = run(&format!("-t2 -c4 -R 2000 -d 1100ms --requests-log {} {}", log.display(), server.url("/")));
    let rows = requests_log::read(&log).1;
    assert!(rows.iter().all(|row| row.lag_ns <= row.response_ns()));
    let seconds = run.json["intervals"].as_array().expect("seconds");
    let tenths = seconds.iter().flat_map(|second| second["lag_max_us"].as_array().expect("tenths"));
    let tenths: Vec<f64> = tenths.map(|lag| lag.as_f64().expect("a number")).collect();
    assert!(tenths.len() >= 20 && tenths[..11].iter().all(|lag_us| *lag_us > 0.0), "{tenths:?}");
    let latest_us = rows.iter().map(|row| row.lag_ns).max().expect("rows") as f64 / 1e3;
    assert_eq!(tenths.into_iter().fold(0.0, f64::max), latest_us);
    let closed = self::run(&format!("-t1 -c1 -d 200ms {}", server.url("/")));
    assert!(closed.json["intervals"][0]["lag_max_us"].is_null());
}
