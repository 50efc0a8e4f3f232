//! A stall of the server shows in full: requests that waited for their connection count from their intended start,
//! and those without a response at the end are counted, not dropped.

use crate::support::{LONGER_THAN_A_RUN, OK, Server, agrees, held, hlog, run};
use std::io::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Responds at once, but not between `from` and `to` after the first request.
fn freezing(from: Duration, to: Duration) -> Server {
    let first: OnceLock<Instant> = OnceLock::new();
    Server::start(move |stream, _| {
        let start = *first.get_or_init(Instant::now);
        let since = start.elapsed();
        if since >= from && since < to {
            std::thread::sleep(to - since);
        }
        stream.write_all(OK).is_ok()
    })
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_in_the_middle_is_in_the_distribution() {
    agrees(|| {
        let server = freezing(Duration::from_millis(500), Duration::from_millis(1000));
        let run = run(&format!("-t1 -c1 -R 1000 -d 2s -L -U {}", server.url("/")));
        run.assert_nothing_vanished();
        let longest_ms = run.number("/latency_us/response/max") / 1000.0;
        // 500 requests were due during the freeze, evenly: half of them waited longer than half of it. Measured from the
        // send, only the one that was under way saw it.
        let waited = above(&run, "response", 250_000.0);
        let saw = above(&run, "service", 250_000.0);
        let expected = (498.0..530.0).contains(&longest_ms) && (235..=300).contains(&waited) && saw == 1;
        let responses = run.count("/requests/completed");
        if expected && responses == 2000 {
            return Ok(());
        }
        Err(format!(
            "500 ms seen as {longest_ms} ms; {waited} waited over 250 ms, {saw} from the send; {responses} responses"
        ))
    });
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_stands_in_the_tenths_when_its_responses_came() {
    let scratch = crate::support::Scratch::new();
    let file = scratch.0.join("out.hlog");
    let server = freezing(Duration::from_millis(500), Duration::from_millis(1000));
    let run = run(&format!("-t1 -c1 -R 1000 -d 2s --hlog {} {}", file.display(), server.url("/")));
    let tenths = hlog::responses(&file);
    assert_eq!(tenths.iter().map(|line| line.tenth).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    let counts: Vec<u64> = tenths.iter().map(|line| line.times_ns.len()).collect();
    assert_eq!(counts.iter().sum::<u64>(), run.count("/requests/completed"));
    assert!(counts[6..9].iter().all(|count| *count == 0), "{counts:?}");
    let longest = tenths.iter().max_by_key(|line| line.times_ns.max()).unwrap();
    assert!((9..12).contains(&longest.tenth) && longest.max_ms > 460.0, "{} {}", longest.tenth, longest.max_ms);
}

#[test]
fn a_log_has_a_line_a_tenth_for_responses_and_a_line_a_second_for_all_else() {
    let server = Server::ok();
    agrees(|| {
        let scratch = crate::support::Scratch::new();
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

/// Requests slower than `us`, from the spectrum.
fn above(run: &crate::support::Run, kind: &str, us: f64) -> u64 {
    let spectrum = run.json["spectrum"][kind].as_array().unwrap();
    let total = spectrum.last().unwrap()[2].as_u64().unwrap();
    let below = spectrum.iter().rfind(|point| point[0].as_f64().unwrap() < us);
    total - below.map_or(0, |point| point[2].as_u64().unwrap())
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_at_the_end_is_censored_and_bounds_the_percentiles() {
    agrees(|| {
        let server = freezing(Duration::from_millis(1000), LONGER_THAN_A_RUN);
        let run = run(&format!("-t1 -c2 -R 1000 -d 1500ms --timeout 10s --drain 1s {}", server.url("/")));
        assert_eq!(run.code, Some(4), "{}", run.stderr);
        run.assert_nothing_vanished();
        let censored = run.count("/requests/censored");
        held((490..=510).contains(&censored), censored)?;
        assert_eq!(run.count("/requests/unsent"), censored - 2);
        assert_eq!(run.count("/latency_us/response/count"), 1500);
        assert_eq!(run.count("/latency_us/response/censored"), censored);
        assert!(run.number("/latency_us/response/max") >= 500_000.0);
        assert!(run.number("/latency_us/response/p99") >= 400_000.0);
        let bounds = run.json["latency_us"]["response"]["at_least"].to_string();
        assert!(bounds.contains("p99") && bounds.contains("max") && !bounds.contains("p50"), "{bounds}");
        assert!(run.stderr.contains("truepace: bound 99.000% >= "), "{}", run.stderr);
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
