//! Wrong input is refused at once, with the cause and the remedy, and with the right exit code.

use crate::support::{Run, Scratch, Server, finish, run, spawn, wait};
use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

fn refused(arguments: &[&str], code: i32, parts: &[&str]) {
    let output = wait(spawn(arguments));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?}: '{part}' is missing in {stderr}");
    }
}

#[test]
fn wrong_usage_is_code_1() {
    refused(&[], 1, &["URL"]);
    refused(&["--no-such-flag", "http://localhost"], 1, &["--no-such-flag"]);
    refused(&["-c", "none", "http://localhost"], 1, &["'none' is not a number"]);
    refused(&["-t4", "-c2", "http://localhost"], 1, &["4 threads for 2 connections", "-t 2 or less"]);
    refused(&["http://localhost", "stray"], 1, &["--script"]);
    refused(&["-R", "-5", "http://localhost"], 1, &[]);
    refused(&["localhost:80"], 1, &["has no scheme", "http://"]);
    refused(
        &["-c1", "-s", "/nowhere/at/all.lua", "http://localhost"],
        1,
        &["cannot read the script /nowhere/at/all.lua", "-s"],
    );
}

#[test]
fn a_run_that_cannot_be_is_code_2() {
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    refused(&["-c1", &format!("http://{gone}/")], 2, &["cannot connect", "refused", "start the server"]);
    refused(&["-c1", "http://no-such-host.invalid/"], 2, &["no-such-host.invalid", "has no address"]);
    let server = Server::ok();
    let url = server.url("/");
    refused(&["-c1", "--json", "/nowhere/out.json", &url], 2, &["/nowhere/out.json", "--json"]);
    refused(&["-c1", "--hlog", "/nowhere/out.hlog", &url], 2, &["/nowhere/out.hlog"]);
}

#[test]
fn a_full_disk_is_reported() {
    if !Path::new("/dev/full").exists() {
        eprintln!("skipped: no /dev/full here");
        return;
    }
    let server = Server::ok();
    refused(
        &["-c1", "-R100", "-d200ms", "--json", "/dev/full", &server.url("/")],
        2,
        &["cannot write the JSON report /dev/full: No space left on device", "it is on standard output", "--json"],
    );
    for (flag, what) in
        [("--hlog", "the histogram log"), ("--requests-log", "the log of requests"), ("--hgrm", "the percentile table")]
    {
        let sentence = format!("cannot write {what} /dev/full: No space left on device");
        refused(&["-c1", "-R100", "-d200ms", flag, "/dev/full", &server.url("/")], 2, &[&sentence, flag]);
    }
    let near = std::fs::read_dir("/dev").unwrap().flatten().map(|file| file.file_name());
    let near: Vec<_> = near.filter(|name| name.to_string_lossy().starts_with("full")).collect();
    assert_eq!(near, ["full"], "nothing is made next to a device");
}

fn run_into(stdout: Stdio, arguments: &[&str], json: &Path) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_truepace"));
    finish(command.args(arguments).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap(), json)
}

#[test]
fn a_full_standard_output_is_an_error_and_keeps_no_other_report() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        eprintln!("skipped: no /dev/full here");
        return;
    };
    let (server, scratch) = (Server::ok(), Scratch::new());
    let (json, url) = (scratch.0.join("out.json"), server.url("/"));
    let full = || Stdio::from(full.try_clone().unwrap());
    let run = run_into(full(), &["-c1", "-t1", "-n9", "--json", json.to_str().unwrap(), &url], &json);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("cannot write the report to standard output: No space"), "{}", run.stderr);
    assert_eq!(run.count("/requests/completed"), 9);
    let nowhere = run_into(full(), &["-c1", "-t1", "-n9", "--json", "/dev/full", &url], &json);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.stderr);
    for part in ["the JSON report /dev/full: No space", "the JSON report to standard output: No space"] {
        assert!(nowhere.stderr.contains(&format!("cannot write {part}")), "{}", nowhere.stderr);
    }
    assert!(!nowhere.stderr.contains("it is on standard output"), "{}", nowhere.stderr);
    for flag in ["--version", "--help", "-h"] {
        let run = run_into(full(), &[flag], &json);
        assert_eq!(run.code, Some(2), "{flag}: {}", run.stderr);
        assert!(run.stderr.contains("to standard output: No space"), "{flag}: {}", run.stderr);
    }
}

#[test]
fn a_reader_that_went_away_is_no_fault() {
    let (server, scratch) = (Server::ok(), Scratch::new());
    let (json, url) = (scratch.0.join("out.json"), server.url("/"));
    let load = ["-c1", "-t1", "-n9", "--json", json.to_str().unwrap(), &url];
    for arguments in [&["--version"][..], &["--help"], &["-h"], &["--man"], &["--completions", "zsh"], &load] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = run_into(Stdio::from(writer), arguments, &json);
        // That the machine is busy is reported, and is no fault.
        let faults: Vec<_> = run.stderr.lines().filter(|line| !line.contains("did not keep up")).collect();
        assert_eq!((run.code, faults), (Some(0), vec![]), "{arguments:?}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut both = Command::new(env!("CARGO_BIN_EXE_truepace"));
    let both = both.arg("http://").stdout(Stdio::from(writer.try_clone().unwrap())).stderr(Stdio::from(writer));
    assert_eq!(both.status().unwrap().code(), Some(1), "an error that nobody reads is no panic");
}

#[test]
fn a_json_report_that_its_file_cannot_hold_goes_to_standard_output() {
    if !Path::new("/dev/full").exists() {
        eprintln!("skipped: no /dev/full here");
        return;
    }
    let server = Server::ok();
    let run = run(&format!("-c1 -t1 -n9 --json /dev/full {}", server.url("/")));
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let report: serde_json::Value = serde_json::from_str(&run.stdout[run.stdout.find("{\n").unwrap()..]).unwrap();
    assert_eq!(report["requests"]["completed"], 9);
}

#[test]
fn logs_that_are_cut_are_named_and_end_whole() {
    // A limit on the size of a file stands for a disk that fills during the run; the blocks are of 512 bytes.
    let (server, scratch) = (Server::ok(), Scratch::new());
    let names = ["out.json", "out.hlog", "out.log", "out.hgrm"].map(|name| scratch.0.join(name).display().to_string());
    let [json, hlog, log, hgrm] = &names;
    let line = format!(
        "trap '' XFSZ; ulimit -f 4; exec {} -t1 -c1 -R1000 -d3s --json {json} --hlog {hlog} --requests-log {log} \
         --hgrm {hgrm} {}",
        env!("CARGO_BIN_EXE_truepace"),
        server.url("/")
    );
    let child = Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let run = finish(child, json.as_ref());
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    for part in [
        format!("the histogram log {hlog}: File too large"),
        format!("the log of requests {log}: File too large"),
        "it is cut after ".into(),
        format!("cannot write the JSON report {json}: File too large"),
        "; it is on standard output; ".into(),
    ] {
        assert!(run.stderr.contains(&part), "'{part}' is missing in {}", run.stderr);
    }
    let (_, rows) = crate::support::requests_log::read(log.as_ref());
    assert!(run.stderr.contains(&format!("it is cut after {} requests", rows.len())), "{}", run.stderr);
    assert_eq!(std::fs::metadata(json).unwrap().len(), 0, "half a report is none");
    crate::support::hlog::read(hlog.as_ref());
    let report: serde_json::Value = serde_json::from_str(&run.stdout[run.stdout.find("{\n").unwrap()..]).unwrap();
    assert_eq!(report["requests"]["scheduled"], 3000);
}

#[test]
fn no_report_of_an_earlier_run_is_left_where_this_one_came_to_nothing() {
    let scratch = Scratch::new();
    let bad = scratch.file("bad.lua", "x = = 1").display().to_string();
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let (server, gone) = (Server::ok(), format!("http://{gone}/"));
    for arguments in [&["-s", &bad, &server.url("/")][..], &["-s", "/nowhere.lua", &server.url("/")], &[&gone]] {
        let earlier = ["out.json", "out.hlog", "out.log", "out.hgrm", "out.hgrm.service"];
        let [json, hlog, log, hgrm, service] = earlier.map(|name| scratch.file(name, "of an earlier run"));
        let flags = [("--json", &json), ("--hlog", &hlog), ("--requests-log", &log), ("--hgrm", &hgrm)];
        let flags = flags.iter().flat_map(|(flag, path)| [*flag, path.to_str().unwrap()]);
        let output = wait(spawn(&flags.chain(arguments.iter().copied()).collect::<Vec<_>>()));
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}");
        for path in [json, hlog, log, hgrm, service] {
            assert!(!path.exists(), "{arguments:?} left {}", path.display());
        }
    }
}

#[test]
fn a_flag_that_would_do_nothing_is_refused() {
    refused(&["--weights", "1:2", "http://localhost"], 1, &["--target"]);
    refused(&["--interleave", "none", "http://localhost"], 1, &["--target"]);
    refused(&["--slo", "p99=1", "http://localhost"], 1, &["'p99=1'", "unit", "p99=10ms"]);
}

#[test]
fn a_method_and_a_body_need_no_script() {
    let scratch = Scratch::new();
    let file = scratch.file("body.txt", "of a file\n").display().to_string();
    let at = format!("@{file}");
    for (flags, line, body) in [
        (&["-m", "DELETE"][..], "DELETE /x HTTP/1.1", ""),
        (&["-b", "text"], "POST /x HTTP/1.1", "text"),
        (&["--method", "PUT", "--body", &at], "PUT /x HTTP/1.1", "of a file\n"),
        (&["-m", "PUT", "-b", ""], "PUT /x HTTP/1.1", ""),
    ] {
        let server = Server::ok();
        let url = server.url("/x");
        let output = wait(spawn(&[&["-t1", "-c1", "-n1"], flags, &[url.as_str()]].concat()));
        assert_eq!(output.status.code(), Some(0), "{flags:?}");
        let seen = server.seen.lock().unwrap()[0].clone();
        assert_eq!((seen.line.as_str(), seen.body.as_slice()), (line, body.as_bytes()), "{flags:?}");
        let length = flags.len() > 2 || flags.contains(&"-b");
        assert_eq!(seen.header("content-length").is_some(), length, "{flags:?}");
    }
    let server = Server::ok();
    let script = scratch.file("own.lua", "wrk.headers['X-Own'] = wrk.method .. #wrk.body\n").display().to_string();
    run(&format!("-t1 -c1 -n1 -m PATCH -b 12345 -s {script} {}", server.url("/")));
    assert_eq!(server.seen.lock().unwrap()[0].header("x-own"), Some("PATCH5"), "a script sees them");
}

#[test]
fn a_header_replaces_the_one_that_would_be_sent_and_an_empty_one_takes_it_away() {
    let sent = |flags: &[&str], user: &str| {
        let server = Server::ok();
        let url = server.url("/").replace("http://", &format!("http://{user}"));
        wait(spawn(&[&["-t1", "-c1", "-n1"], flags, &[url.as_str()]].concat()));
        let seen = server.seen.lock().unwrap();
        let headers: Vec<String> = seen[0].headers.iter().map(|header| header.to_ascii_lowercase()).collect();
        (headers, format!("host: {}", server.address))
    };
    let (headers, host) = sent(&[], "");
    assert_eq!(headers, [host]);
    let (headers, _) = sent(&["-H", "host: other"], "");
    assert_eq!(headers, ["host: other"]);
    let (headers, _) = sent(&["-H", "host:"], "");
    assert_eq!(headers, Vec::<String>::new());
    let (headers, host) = sent(&["-H", "X-A: 1", "-H", "x-b;", "-H", "X-A:"], "");
    assert_eq!(headers, [host, "x-b:".into()]);
    let (headers, host) = sent(&["-b", "text", "-H", "content-length: 4"], "");
    assert_eq!(headers, [host, "content-length: 4".into()]);
    let (headers, host) = sent(&[], "me:pass%3Aword@");
    assert_eq!(headers, [host, "authorization: basic bwu6cgfzczp3b3jk".into()]);
    let (headers, host) = sent(&["-H", "authorization: Bearer x"], "me:word@");
    assert_eq!(headers, [host, "authorization: bearer x".into()]);
}

#[test]
fn a_report_may_go_into_a_pipe() {
    let server = Server::ok();
    let output = wait(spawn(&["-c1", "-R100", "-d200ms", "--json", "/dev/stdout", &server.url("/")]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"schema\""));
}

#[test]
fn help_and_version_are_code_0() {
    for flag in ["--help", "-h", "--version", "-v"] {
        let output = wait(spawn(&[flag]));
        assert_eq!(output.status.code(), Some(0), "{flag}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("truepace"), "{flag}");
    }
}

#[test]
fn the_version_comes_first_and_the_run_goes_on() {
    let server = Server::ok();
    let url = server.url("/");
    let output = wait(spawn(&["-v", "-B", "-c1", "-t1", "-n3", &url]));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout.starts_with("truepace ") && stdout.contains("  3 requests in "), "{stdout}");
}

#[test]
fn the_report_names_its_command() {
    let server = Server::ok();
    let scratch = crate::support::Scratch::new();
    let json = scratch.0.join("out.json");
    let url = server.url("/");
    let run = finish(spawn(&["-c1", "-n3", "--json", json.to_str().unwrap(), &url]), &json);
    let command: Vec<_> =
        run.json["command"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command, ["-c1", "-n3", "--json", json.to_str().unwrap(), &url]);
    assert_eq!((run.json["schema"].as_str(), run.json["url"].as_str()), (Some("truepace/1"), Some(url.as_str())));
}
