//! A run that is ended by a signal still writes every report, and says so.

use crate::support::{Scratch, Server, finish, hlog, spawn};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

fn interrupted_by(signal: Signal, mode: &[&str]) -> crate::support::Run {
    let server = Server::ok();
    let scratch = Scratch::new();
    let [json, log, hgrm] = ["out.json", "out.hlog", "out.hgrm"].map(|name| scratch.0.join(name).display().to_string());
    let script = scratch.file("done.lua", "function done(summary) print('done', summary.requests) end\n");
    let url = server.url("/");
    let mut arguments = mode.to_vec();
    arguments.extend(["-t2", "-c2", "-d60s", "--json", &json, "--hlog", &log, "--hgrm", &hgrm]);
    arguments.extend(["-s", script.to_str().unwrap(), &url]);
    let child = spawn(&arguments);
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    // Begun is when responses are counted.
    while server.seen.lock().unwrap().len() < 100 {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(pid, signal).unwrap();
    let run = finish(child, json.as_ref());
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert_eq!(run.json["interrupted"], true);
    assert!(run.number("/elapsed_s") < 10.0);
    assert!(run.stdout.contains("Requests/sec:"), "{}", run.stdout);
    assert!(run.stderr.contains("truepace: interrupted after"), "{}", run.stderr);
    run.assert_nothing_vanished();
    let completed = run.count("/requests/completed");
    assert!(run.stdout.ends_with(&format!("done\t{completed}\n")), "{}", run.stdout);
    // What had no response stands in the table too.
    let counted = run.count("/latency_us/response/count");
    assert!(std::fs::read_to_string(&hgrm).unwrap().contains(&format!("Total count    = {counted:12}]")));
    let logged = hlog::responses(log.as_ref()).iter().map(|line| line.times_ns.len()).sum::<u64>();
    assert_eq!(logged, completed);
    run
}

#[test]
fn sigint_ends_an_open_loop_in_order() {
    let run = interrupted_by(Signal::INT, &["-R200"]);
    // A busy machine can leave a few waiting for their connection; what was not due yet is not missing.
    assert!(run.count("/requests/unsent") < 100, "{}", run.json["requests"]);
    assert!(run.count("/requests/completed") >= 90);
}

#[test]
fn sigterm_ends_a_closed_loop_in_order() {
    interrupted_by(Signal::TERM, &[]);
}

#[test]
fn a_second_signal_ends_what_the_first_could_not() {
    // A script that never comes back holds its thread; the first signal has no one to tell.
    let server = Server::ok();
    let scratch = Scratch::new();
    let script = scratch.file("stuck.lua", "function response() while true do end end\n");
    let mut child = spawn(&["-t1", "-c1", "-R100", "-d60s", "-s", script.to_str().unwrap(), &server.url("/")]);
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    while server.seen.lock().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Two signals that come at once may be one, and on a busy machine the first is taken late.
    while child.try_wait().unwrap().is_none() {
        kill_process(pid, Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(finish(child, "/nowhere".as_ref()).code, Some(130));
}

#[test]
fn a_signal_ends_a_load_most_of_whose_connections_are_never_due() {
    let server = Server::ok();
    let scratch = Scratch::new();
    let json = scratch.0.join("out.json");
    // Three requests in all, for ten connections.
    let url = server.url("/");
    let child = spawn(&["-t2", "-c10", "-R0.1:0", "-d60s", "--json", json.to_str().unwrap(), &url]);
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    while server.seen.lock().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(pid, Signal::TERM).unwrap();
    let run = finish(child, &json);
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    run.assert_nothing_vanished();
    assert!(run.number("/elapsed_s") < 30.0 && run.count("/requests/sent") < 3, "{}", run.json["requests"]);
}

#[test]
fn a_signal_in_the_warmup_leaves_an_empty_window() {
    let run = interrupted_by(Signal::INT, &["-R1000", "--warmup", "30s"]);
    assert_eq!(run.count("/requests/scheduled"), 0);
    assert!(run.count("/requests/warmup_completed") >= 90);
}
