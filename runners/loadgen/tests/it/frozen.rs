//! A generator that was stopped for a while says that it was, whenever that happened.

use crate::support::{Run, Scratch, Server, agrees, finish, held, spawn};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// A run that is stopped once `after` has passed since its first request, and goes on after `length`.
fn frozen(server: &Server, flags: &str, after: Duration, length: Duration) -> Run {
    let scratch = Scratch::new();
    let json = scratch.0.join("out.json");
    let url = server.url("/");
    let mut arguments = vec!["--json", json.to_str().expect("a plain path"), "-t1", "--summary"];
    arguments.extend(flags.split(' '));
    arguments.push(&url);
    let child = spawn(&arguments);
    while server.seen.lock().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::STOP).expect("the child can be stopped");
    std::thread::sleep(length);
    kill_process(pid, Signal::CONT).expect("the child can go on");
    finish(child, &json)
}

#[test]
fn over_the_end_of_its_window_it_is_its_own_fault() {
    let server = Server::ok();
    let run =
        frozen(&server, "-c4 -R 500 -d 1s --drain 300ms", Duration::from_millis(600), Duration::from_millis(1500));
    run.assert_nothing_vanished();
    assert!(run.count("/requests/unsent") > 100, "{}", run.json["requests"]);
    assert_eq!(run.json["generator"]["kept_up"], false, "{}", run.json["generator"]);
    assert!(run.number("/generator/lag_us/p90") > 500_000.0, "{}", run.json["generator"]);
    assert!(run.number("/generator/longest_stall_s") > 1.0, "{}", run.json["generator"]);
    assert_eq!(run.code, Some(4));
}

#[test]
fn in_a_closed_loop_it_is_its_own_fault_and_no_time_out() {
    agrees(|| {
        let server = Server::ok();
        let flags = "-c8 -d 1s --timeout 500ms";
        let run = frozen(&server, flags, Duration::from_millis(300), Duration::from_millis(1500));
        run.assert_nothing_vanished();
        assert_eq!(run.json["generator"]["kept_up"], false, "{}", run.json["generator"]);
        let (completed, sent) = (run.count("/requests/completed"), run.count("/requests/sent"));
        held((run.count("/errors/timeout"), sent - completed) == (0, 0), &run.json["requests"])
    });
}
