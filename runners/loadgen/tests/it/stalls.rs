//! A stall of the server shows in full: requests that waited for their connection count from their intended start,
//! and those without a response at the end are counted, not dropped.

use crate::support::requests_log::{self, assert_percentiles};
use crate::support::{LONGER_THAN_A_RUN, OK, Scratch, Server, agrees, held, hlog, run};
use std::io::Write;
use std::time::Duration;

const MS_NS: u64 = 1_000_000;

/// Responds at once, but after `pause` to the requests that it is for, counted over all connections.
fn pausing(pause: Duration, is_for: impl Fn(u64) -> bool + Send + Sync + 'static) -> Server {
    Server::start(move |stream, seen| {
        if is_for(seen.number) {
            std::thread::sleep(pause);
        }
        stream.write_all(OK).is_ok()
    })
}

#[test]
#[ignore = "long: make test-long runs it"]
fn a_freeze_in_the_middle_is_in_the_distribution() {
    let server = pausing(Duration::from_millis(500), |number| number == 500);
    let scratch = Scratch::new();
    let log = scratch.0.join("log");
    let files = format!("--requests-log {}", log.display());
    let run = run(&format!("-t1 -c1 -R 1000 -n 2000 --timeout 20s -L -U {files} {}", server.url("/")));
    run.assert_nothing_vanished();
    assert_eq!((run.count("/requests/completed"), run.count("/reconnects")), (2000, 0), "{}", run.json["requests"]);
    let rows = requests_log::read(&log).1;
    assert_percentiles(&run, &rows);
    assert!(rows[500].service_ns >= 500 * MS_NS, "{:?}", rows[500]);
    // 500 requests were due during the freeze, evenly: half of them waited longer than half of it.
    for row in &rows[500..1000] {
        assert!(row.response_ns() >= (1000 - row.slot) * MS_NS, "{row:?}");
    }
    // What a request waited is the freeze, and what the generator was late besides: it says how much.
    let mut free_ns = 0;
    for row in &rows {
        let ideal_ns = row.intended_ns.max(free_ns);
        assert_eq!(row.sent_ns(), ideal_ns + row.lag_ns, "{row:?}");
        free_ns = ideal_ns + row.service_ns;
    }
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_stands_in_the_tenths_when_its_responses_came() {
    agrees(|| {
        let server = pausing(Duration::from_millis(500), |number| number == 500);
        let scratch = Scratch::new();
        let [file, log] = ["out.hlog", "log"].map(|name| scratch.0.join(name));
        let files = format!("--hlog {} --requests-log {}", file.display(), log.display());
        let run = run(&format!("-t1 -c1 -R 1000 -d 2s --timeout 20s {files} {}", server.url("/")));
        let lines = hlog::responses(&file);
        let logged: Vec<u64> = lines.iter().map(|line| line.times_ns.len()).collect();
        assert_eq!(logged.iter().sum::<u64>(), run.count("/requests/completed"));
        // A generator that was not given the processor for a second has longer lines.
        held(lines.iter().map(|line| line.tenth).eq(0..20), format!("{logged:?}"))?;
        let mut came = [0; 20];
        for row in requests_log::read(&log).1.iter().filter(|row| row.fate == 0) {
            came[((row.intended_ns + row.response_ns()) / (100 * MS_NS)).min(19) as usize] += 1;
        }
        // What came at the border of two seconds may be read, and counted, in the next.
        let within = |counts: &[u64]| [&counts[..9], &counts[11..19]].concat();
        held(within(&logged) == within(&came), format!("{logged:?} {came:?}"))?;
        held(came[6..9] == [0; 3] && lines[9..12].iter().any(|line| line.max_ms >= 500.0), format!("{came:?}"))
    });
}

#[test]
fn a_log_has_a_line_a_tenth_for_responses_and_a_line_a_second_for_all_else() {
    let server = Server::ok();
    agrees(|| {
        let scratch = Scratch::new();
        let file = scratch.0.join("out.hlog");
        let run = run(&format!("-t1 -c1 -R 200 -d 1250ms --hlog {} {}", file.display(), server.url("/")));
        let of = |tag: &str| hlog::read(&file).into_iter().filter(|line| line.tag == tag).collect::<Vec<_>>();
        let (tenths, seconds) = (of("response"), of("service"));
        for lines in [&tenths, &seconds] {
            let count = lines.iter().map(|line| line.times_ns.len()).sum::<u64>();
            assert_eq!(count, run.count("/requests/completed"));
        }
        let places = |lines: &[hlog::Line]| lines.iter().map(|line| line.tenth).collect::<Vec<_>>();
        let length_s = |lines: &[hlog::Line]| lines.iter().map(|line| line.duration_s).sum::<f64>();
        // A generator that was not given the processor for a second has longer lines.
        held(places(&seconds) == [0, 10], format!("{:?}", places(&seconds)))?;
        held(tenths.len() >= 13, tenths.len())?;
        assert_eq!(places(&tenths), (0..tenths.len()).collect::<Vec<_>>());
        assert!((length_s(&tenths) - length_s(&seconds)).abs() < 0.01, "{} {}", length_s(&tenths), length_s(&seconds));
        Ok(())
    });
}

#[test]
#[ignore = "long: make test-long runs it"]
fn a_freeze_at_the_end_is_censored_and_bounds_the_percentiles() {
    agrees(|| {
        let server = pausing(LONGER_THAN_A_RUN, |number| number >= 1000);
        let run = run(&format!("-t1 -c2 -R 1000 -d 1500ms --timeout 10s --drain 1s {}", server.url("/")));
        assert_eq!(run.code, Some(4), "{}", run.stderr);
        run.assert_nothing_vanished();
        assert_eq!(run.count("/latency_us/response/count"), 1500);
        // Too busy a machine does not get to request 1000 on both connections within the window.
        held((run.count("/requests/completed"), run.count("/requests/unsent")) == (1000, 498), &run.json["requests"])?;
        assert_eq!((run.count("/requests/censored"), run.count("/latency_us/response/censored")), (500, 500));
        // Those that were due last waited for the second after the window too.
        assert!(run.number("/latency_us/response/max") >= 1_498_000.0);
        assert!(run.number("/latency_us/response/p99") >= 1_000_000.0);
        let bounds = run.json["latency_us"]["response"]["at_least"].to_string();
        assert!(bounds.contains("p99") && bounds.contains("max"), "{bounds}");
        held(!bounds.contains("p50"), &bounds)?;
        let line = run.stderr.lines().find(|line| line.starts_with("truepace: bound "));
        assert!(line.is_some_and(|line| line.contains(" 99.000% >= 1.4")), "{}", run.stderr);
        Ok(())
    });
}

#[test]
fn an_overloaded_server_shows_as_waiting_not_as_a_lower_rate_only() {
    let server = Server::start(|stream, _| {
        std::thread::sleep(Duration::from_millis(5));
        stream.write_all(OK).is_ok()
    });
    let run = run(&format!("-t1 -c1 -R 1000 -d 1s {}", server.url("/")));
    run.assert_nothing_vanished();
    assert_eq!(run.count("/requests/scheduled"), 1000);
    assert!(run.count("/requests/unsent") > 700, "{}", run.json["requests"]);
    assert!(run.number("/achieved_rps") < 220.0);
    assert!(run.number("/latency_us/response/p90") > 500_000.0);
}

#[test]
fn what_an_overloaded_warmup_left_unsent_does_not_push_the_window_aside() {
    agrees(|| {
        let server = Server::start(|stream, _| {
            std::thread::sleep(Duration::from_millis(5));
            stream.write_all(OK).is_ok()
        });
        let run = run(&format!("-t1 -c1 -R 1000 -d 1s --warmup 2s {}", server.url("/")));
        run.assert_nothing_vanished();
        let of = |name: &str| run.count(&format!("/requests/{name}"));
        assert_eq!(of("warmup_sent") + of("warmup_unsent"), 2000);
        assert!(of("warmup_unsent") > 1000, "{}", run.json["requests"]);
        assert_eq!(of("scheduled"), 1000);
        held((100..=220).contains(&of("completed")), &run.json["requests"])?;
        Ok(())
    });
}

#[test]
fn a_slow_response_is_given_up_at_the_time_out_and_counts_as_at_least_that() {
    agrees(|| {
        let server = Server::start(|stream, seen| {
            if seen.number == 50 {
                std::thread::sleep(Duration::from_millis(600));
            }
            stream.write_all(OK).is_ok()
        });
        let run = run(&format!("-t1 -c1 -R 100 -d 2s --timeout 300ms {}", server.url("/")));
        assert!(run.number("/latency_us/service/max") >= 300_000.0);
        let bounds = run.json["latency_us"]["service"]["at_least"].as_array().expect("a list");
        assert!(bounds.iter().any(|bound| bound == "max"), "{bounds:?}");
        // A machine that stalls for so long makes a time-out too, and at the end leaves some unsent.
        held((run.count("/requests/completed"), run.count("/errors/timeout")) == (199, 1), &run.json)
    });
}
