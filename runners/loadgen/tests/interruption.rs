//! A run that is ended by a signal still writes every report, and says so.

mod support;

use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;
use support::{Scratch, Server, finish, spawn};

fn interrupted_by(signal: Signal, mode: &[&str]) -> support::Run {
    let server = Server::ok();
    let scratch = Scratch::new();
    let (json, hlog) = (scratch.0.join("out.json"), scratch.0.join("out.hlog"));
    let url = server.url("/");
    let mut arguments = mode.to_vec();
    arguments.extend(["-t2", "-c2", "-d60s", "--json", json.to_str().unwrap(), "--hlog", hlog.to_str().unwrap(), &url]);
    let child = spawn(&arguments);
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    // Begun is when answers are counted.
    while server.seen.lock().unwrap().len() < 100 {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(pid, signal).unwrap();
    let run = finish(child, &json);
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert_eq!(run.json["interrupted"], true);
    assert!(run.number("/elapsed_s") < 10.0);
    assert!(
        run.stdout.contains("Requests/sec:") && run.stdout.contains("loadgen: interrupted after"),
        "{}",
        run.stdout
    );
    assert!(std::fs::read_to_string(&hlog).unwrap().contains("Tag=response"));
    run.assert_nothing_vanished();
    run
}

#[test]
fn sigint_ends_an_open_loop_in_order() {
    let run = interrupted_by(Signal::INT, &["-R1000"]);
    // A busy machine can leave a few waiting for their connection; what was not due yet is not missing.
    assert!(run.count("/requests/unsent") < 100, "{}", run.json["requests"]);
    assert!(run.count("/requests/completed") >= 90);
}

#[test]
fn sigterm_ends_a_closed_loop_in_order() {
    interrupted_by(Signal::TERM, &[]);
}

#[test]
fn a_signal_in_the_warmup_leaves_an_empty_window() {
    let run = interrupted_by(Signal::INT, &["-R1000", "--warmup", "30s"]);
    assert_eq!(run.count("/requests/scheduled"), 0);
    assert!(run.count("/requests/warmup_completed") >= 90);
}
