//! What is recorded is what happened, held against the server's own clock.
//!
//! On a busy machine a server is late itself, so the truth is known between two bounds: a response takes at least from
//! where the server has read its request to where it begins to write, and at most from where the script has made the
//! request to where the server has written. Some tens of microseconds lie between them on a machine with time to spare;
//! on any machine the truth does, and so does each percentile of it.

use crate::support::requests_log::{self, PERCENTILES, Row, percentile};
use crate::support::{OK, Run, Scratch, Server, agrees, held, run};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Each request says when it was made, in microseconds since 1970.
const SCRIPT: &str = "function request()\n\
    return wrk.format('GET', '/', {['X-Made-Us'] = string.format('%.0f', wrk.time_us())})\n\
end\n";
/// What the clocks of the kernel and of the two processes may differ by.
const CLOCKS_US: f64 = 20.0;

/// Between these lies the time that a response took.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least_us: f64,
    most_us: f64,
}

impl Bounds {
    fn hold(self, measured_us: f64) -> bool {
        // A histogram has three digits.
        (self.least_us - CLOCKS_US..=self.most_us * 1.002 + CLOCKS_US).contains(&measured_us)
    }
}

/// A server that waits as `delay` says, and the bounds of what each response took, in the order of the responses.
fn waiting(delay: impl Fn(u64) -> Duration + Send + Sync + 'static) -> (Server, Arc<Mutex<Vec<Bounds>>>) {
    let bounds: Arc<Mutex<Vec<Bounds>>> = Arc::default();
    let notes = bounds.clone();
    let server = Server::start(move |stream, seen| {
        let made_us: u128 = seen.header("x-made-us").expect("when it was made").parse().expect("microseconds");
        std::thread::sleep((seen.at + delay(seen.number)).saturating_duration_since(Instant::now()));
        let least_us = seen.at.elapsed().as_secs_f64() * 1e6;
        let written = stream.write_all(OK).is_ok();
        let now_us = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() + 1;
        let most_us = now_us.saturating_sub(made_us) as f64;
        notes.lock().unwrap().push(Bounds { least_us, most_us });
        written
    });
    (server, bounds)
}

/// The bounds of so many responses: the server notes the last one after the generator has it.
fn noted(bounds: &Mutex<Vec<Bounds>>, count: usize) -> Vec<Bounds> {
    while bounds.lock().unwrap().len() < count {
        std::thread::sleep(Duration::from_millis(1));
    }
    bounds.lock().unwrap().clone()
}

/// Runs, and reads the log of requests.
fn logged(line: &str, server: &Server) -> (Run, Vec<Row>) {
    let scratch = Scratch::new();
    let (log, script) = (scratch.0.join("log"), scratch.file("made.lua", SCRIPT));
    let files = format!("--requests-log {} -s {}", log.display(), script.display());
    let run = run(&format!("{line} {files} {}", server.url("/")));
    (run, requests_log::read(&log).1)
}

#[test]
#[ignore = "long: make test-long runs it"]
fn percentiles_of_a_known_distribution_lie_within_the_server_s_bounds() {
    agrees(|| {
        // An even spread from 20 to 80 ms, in an order that jumps; one in a hundred takes 400 ms. No connection waits
        // for another: each has 500 ms for its request.
        let (server, bounds) = waiting(|number| match number % 100 {
            10 => Duration::from_millis(400),
            step => Duration::from_millis(20 + step * 37 % 60),
        });
        let (run, rows) = logged("-t1 -c100 -R 200 -n 600 --timeout 20s", &server);
        assert_eq!(run.count("/requests/completed"), 600, "{}", run.json["requests"]);
        requests_log::assert_percentiles(&run, &rows);
        // A moment passes before the kernel stamps what comes in.
        held(run.count("/generator/unstamped") == 0, &run.json["generator"])?;
        let bounds = noted(&bounds, 600);
        let late_us = run.number("/generator/lag_us/max");
        let waited_us = run.json.pointer("/waited_for_connection_us/max").and_then(serde_json::Value::as_f64);
        for (name, percent) in PERCENTILES {
            let least_us = percentile(bounds.iter().map(|bound| bound.least_us), percent);
            let most_us = percentile(bounds.iter().map(|bound| bound.most_us), percent);
            for (kind, before_us) in [("service", 0.0), ("response", late_us + waited_us.unwrap_or(0.0))] {
                let truth = Bounds { least_us, most_us: most_us + before_us };
                let measured_us = run.number(&format!("/latency_us/{kind}/{name}"));
                assert!(truth.hold(measured_us), "{kind} {name}: {truth:?} measured as {measured_us} us");
            }
        }
        Ok(())
    });
}

#[test]
#[ignore = "long: make test-long runs it"]
fn a_freeze_in_the_middle_is_recorded_as_long_as_it_was_and_so_is_the_wait_behind_it() {
    agrees(|| {
        let (server, bounds) = waiting(|number| Duration::from_millis(if number == 500 { 300 } else { 0 }));
        let (run, rows) = logged("-t1 -c1 -R 1000 -n 1500 --timeout 20s", &server);
        assert_eq!(run.count("/requests/completed"), 1500, "{}", run.json["requests"]);
        requests_log::assert_percentiles(&run, &rows);
        held(run.count("/generator/unstamped") == 0, &run.json["generator"])?;
        let (frozen, truth) = (&rows[500], noted(&bounds, 1500)[500]);
        let service_us = frozen.service_ns as f64 / 1e3;
        assert!(truth.hold(service_us), "{truth:?} recorded as {service_us} us");
        let over_ns = frozen.sent_ns() + frozen.service_ns;
        for behind in &rows[501..801] {
            assert!(behind.intended_ns + behind.response_ns() > over_ns, "slot {} overtook it", behind.slot);
        }
        Ok(())
    });
}

#[test]
#[ignore = "long: make test-long runs it"]
fn a_freeze_at_the_end_is_recorded_until_the_end_and_as_a_bound() {
    agrees(|| {
        let (server, _) = waiting(|number| Duration::from_millis(if number == 1000 { 5000 } else { 0 }));
        let (run, _) = logged("-t1 -c1 -R 1000 -d 1500ms --drain 100ms", &server);
        run.assert_nothing_vanished();
        // Too busy a machine does not get to request 1000 within the window.
        held(run.count("/requests/censored") == 500, &run.json["requests"])?;
        // That was due one second into the window, and waited until the run gave up.
        let waited_us = run.number("/elapsed_s") * 1e6 - 1e6;
        let measured_us = run.number("/latency_us/response/max");
        assert!((measured_us / waited_us - 1.0).abs() <= 0.002, "{waited_us} us recorded as {measured_us} us");
        assert!(run.json["latency_us"]["response"]["at_least"].to_string().contains("max"));
        Ok(())
    });
}
