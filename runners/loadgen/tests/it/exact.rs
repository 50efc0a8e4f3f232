//! What is recorded is what happened, held against the server's own clock.

use crate::support::{OK, Run, Server, agrees, run};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A server that waits as `delay` says and notes how long it really took, from the request read to the response written.
fn waiting(delay: impl Fn(u64) -> Duration + Send + Sync + 'static) -> (Server, Arc<Mutex<Vec<f64>>>) {
    let took: Arc<Mutex<Vec<f64>>> = Arc::default();
    let notes = took.clone();
    let server = Server::start(move |stream, seen| {
        let due = seen.at + delay(seen.number);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let written = stream.write_all(OK).is_ok();
        notes.lock().unwrap().push(seen.at.elapsed().as_secs_f64() * 1e6);
        written
    });
    (server, took)
}

/// The value that a share of all did not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

fn within(measured_us: f64, true_us: f64) -> bool {
    (measured_us - true_us).abs() <= (true_us * 0.01).max(20.0)
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn percentiles_of_a_known_distribution_are_within_one_percent() {
    agrees(|| {
        // An even spread from 20 to 80 ms, in an order that jumps; one in a hundred takes 400 ms, none of them near the
        // end. No connection waits for another: each has 500 ms for its request.
        let (server, took) = waiting(|number| match number % 100 {
            10 => Duration::from_millis(400),
            step => Duration::from_millis(20 + step * 37 % 60),
        });
        let run = run(&format!("-t1 -c100 -R 200 -d 3s {}", server.url("/")));
        if run.count("/requests/completed") != 600 {
            return Err(format!("not all got a response: {}", run.json["requests"]));
        }
        let mut truth = took.lock().unwrap().clone();
        truth.sort_by(f64::total_cmp);
        for (name, share) in [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
            for kind in ["service", "response"] {
                let measured = run.number(&format!("/latency_us/{kind}/{name}"));
                let true_us = quantile(&truth, share);
                if !within(measured, true_us) {
                    return Err(format!("{kind} {name}: {true_us:.0} us measured as {measured:.0} us"));
                }
            }
        }
        Ok(())
    });
}

/// The longest that the server took, as it noted, and what the generator made of it.
fn longest(run: &Run, took: &Mutex<Vec<f64>>) -> (f64, f64) {
    (took.lock().unwrap().iter().copied().fold(0.0, f64::max), run.number("/latency_us/response/max"))
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_in_the_middle_is_recorded_within_a_millisecond() {
    agrees(|| {
        let (server, took) = waiting(|number| Duration::from_millis(if number == 500 { 300 } else { 0 }));
        let run = run(&format!("-t1 -c1 -R 1000 -d 1500ms {}", server.url("/")));
        if run.count("/requests/completed") != 1500 {
            return Err(format!("not all got a response: {}", run.json["requests"]));
        }
        let (true_us, measured_us) = longest(&run, &took);
        let close = (measured_us - true_us).abs() <= 1000.0;
        if close { Ok(()) } else { Err(format!("{true_us:.0} us recorded as {measured_us:.0} us")) }
    });
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn a_freeze_at_the_end_is_recorded_within_a_millisecond_and_as_a_bound() {
    agrees(|| {
        let (server, _) = waiting(|number| Duration::from_millis(if number == 1000 { 5000 } else { 0 }));
        let run = run(&format!("-t1 -c1 -R 1000 -d 1500ms --drain 100ms {}", server.url("/")));
        run.assert_nothing_vanished();
        // Request 1000 was due one second into the window, and waited until the run gave up.
        let waited_us = run.number("/elapsed_s") * 1e6 - 1e6;
        let measured_us = run.number("/latency_us/response/max");
        assert!(run.json["latency_us"]["response"]["at_least"].to_string().contains("max"));
        let close = (measured_us - waited_us).abs() <= 1000.0 && run.count("/requests/censored") == 500;
        if close { Ok(()) } else { Err(format!("{waited_us:.0} us recorded as {measured_us:.0} us")) }
    });
}
