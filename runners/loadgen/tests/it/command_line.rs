//! Wrong input is refused at once, with the cause and the remedy, and with the right exit code.

use crate::support::{Server, finish, spawn, wait};
use std::net::TcpListener;
use std::path::Path;

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
        &["cannot write the JSON report", "space"],
    );
    refused(
        &["-c1", "-R100", "-d200ms", "--hlog", "/dev/full", &server.url("/")],
        2,
        &["cannot write the histogram log /dev/full"],
    );
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
