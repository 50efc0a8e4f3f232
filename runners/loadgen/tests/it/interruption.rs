//! A run that is ended by a signal still writes every report, and says so.

use crate::support::{Scratch, Server, finish, hlog, spawn, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
fn sighup_ends_a_load_in_order() {
    interrupted_by(Signal::HUP, &["-R200"]);
}

fn send(signal: Signal, child: &Child) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

fn await_requests(server: &Server, count: usize) {
    while server.seen.lock().unwrap().len() < count {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn await_file(path: &std::path::Path) {
    while std::fs::read_to_string(path).unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_sighup_that_nohup_ignores_stays_ignored() {
    let server = Server::ok();
    let line = format!("trap '' HUP; exec {} -t1 -c1 -R200 -d60s {}", env!("CARGO_BIN_EXE_truepace"), server.url("/"));
    let mut child =
        Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_requests(&server, 10);
    send(Signal::HUP, &child);
    let before = server.lines().len();
    await_requests(&server, before + 100);
    assert!(child.try_wait().unwrap().is_none());
    send(Signal::TERM, &child);
    assert_eq!(wait(child).status.code(), Some(130));
}

#[test]
fn one_signal_ends_a_script_that_never_returns_and_what_there_is_is_reported() {
    let scratch = Scratch::new();
    let text = "function setup(thread) number = (number or 0) + 1 thread:set('number', number) end\n\
                function response() if number == 1 then while true do end end end\n\
                function done() print('done') end\n";
    let script = scratch.file("stuck.lua", text);
    for signals in 1..=2 {
        let server = Server::ok();
        let json = scratch.0.join(format!("{signals}.json"));
        let url = server.url("/");
        let script = script.to_str().unwrap();
        let child = spawn(&["-t2", "-c2", "-R200", "-d60s", "-s", script, "--json", json.to_str().unwrap(), &url]);
        await_requests(&server, 100);
        for _ in 0..signals {
            send(Signal::TERM, &child);
            std::thread::sleep(Duration::from_millis(50));
        }
        let run = finish(child, &json);
        assert_eq!(run.code, Some(130), "{}", run.stderr);
        assert!(run.count("/requests/completed") >= 90, "the other thread's: {}", run.json["requests"]);
        let failure = run.json["failure"].as_str().unwrap();
        assert!(failure.contains("did not return in 1 of 2 threads"), "{failure}");
        assert!(run.stderr.contains(failure) && run.stdout.contains("Requests/sec:"), "{}{}", run.stdout, run.stderr);
        assert!(!run.stdout.contains("done"), "its states are in use");
    }
}

/// The files that a run makes in a folder, and the flags for them.
fn files(scratch: &Scratch) -> ([PathBuf; 5], Vec<String>) {
    let paths = ["out.json", "out.hlog", "out.log", "out.hgrm", "out.hgrm.service"].map(|name| scratch.0.join(name));
    let flags = ["--json", "--hlog", "--requests-log", "--hgrm"].iter().zip(&paths);
    let flags = flags.flat_map(|(flag, path)| [flag.to_string(), path.display().to_string()]).collect();
    (paths, flags)
}

#[test]
fn one_signal_ends_a_script_that_never_returns_from_its_body_or_from_init_or_done() {
    for text in ["while true do end", "function init() while true do end end", "function done() while true do end end"]
    {
        let server = Server::ok();
        let scratch = Scratch::new();
        let begun = scratch.0.join("begun");
        let mark = format!("local file = io.open('{}', 'w') file:write('x') file:close()", begun.display());
        let body = text.replace("while", &format!("{mark} while"));
        let script = scratch.file("stuck.lua", &body);
        let (script, url) = (script.to_str().unwrap(), server.url("/"));
        let (paths, flags) = files(&scratch);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let child = spawn(&[&["-t1", "-c1", "-n10", "-s", script][..], &flags, &[&url]].concat());
        await_file(&begun);
        send(Signal::TERM, &child);
        let run = finish(child, &paths[0]);
        let is_reported = run.json["requests"]["completed"] == 10;
        assert_eq!(is_reported, text.contains("done"), "{text}: {}", run.json);
        assert_eq!(run.code, Some(130), "{text}: {}", run.stderr);
        for path in paths {
            assert_eq!(path.exists(), is_reported, "{text}: {}", path.display());
        }
    }
}

#[test]
fn a_script_that_ends_the_process_leaves_no_empty_file() {
    let in_the_load = "local n = 0 function request() n = n + 1 if n > 5 then os.exit(7) end return wrk.format() end";
    for text in ["os.exit(7)", "function init() os.exit(7) end", in_the_load] {
        let (server, scratch) = (Server::ok(), Scratch::new());
        let script = scratch.file("ending.lua", text);
        let (script, url) = (script.to_str().unwrap(), server.url("/"));
        let (paths, flags) = files(&scratch);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let output = wait(spawn(&[&["-t1", "-c1", "-n10", "-s", script][..], &flags, &[&url]].concat()));
        assert_eq!(output.status.code(), Some(7), "{text}");
        // Of a load the logs have their beginning.
        let left = paths.iter().filter(|path| path.exists());
        let left: Vec<_> = left.map(|path| std::fs::metadata(path).unwrap().len() > 0).collect();
        assert_eq!(left, vec![true; if text == in_the_load { 2 } else { 0 }], "{text}");
    }
}

#[test]
fn a_third_signal_ends_what_no_other_could() {
    // A script that never comes back holds its thread.
    let server = Server::ok();
    let scratch = Scratch::new();
    let script = scratch.file("stuck.lua", "function response() while true do end end\n");
    let mut child = spawn(&["-t1", "-c1", "-R100", "-d60s", "-s", script.to_str().unwrap(), &server.url("/")]);
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    while server.seen.lock().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Signals that come at once may be one, and on a busy machine the first is taken late.
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        kill_process(pid, Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(begun.elapsed() < Duration::from_secs(30));
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
