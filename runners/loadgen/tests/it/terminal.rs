//! On a terminal a line tells how the run goes, second by second, and leaves none of itself in the report.

use crate::support::Server;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::ptr::null_mut;

/// Both ends of a terminal: what is written to the second is read from the first.
fn terminal() -> (File, OwnedFd) {
    let (mut reader, mut writer) = (0, 0);
    // SAFETY: both pointers are to integers that outlive the call; the others may be null (openpty(3)).
    let code = unsafe { libc::openpty(&mut reader, &mut writer, null_mut(), null_mut(), null_mut()) };
    assert_eq!(code, 0, "a terminal can be opened");
    // SAFETY: the call gave two descriptors that nobody else owns.
    unsafe { (File::from_raw_fd(reader), OwnedFd::from_raw_fd(writer)) }
}

/// All that comes until the other end is closed, which Linux tells as an error.
fn everything(mut reader: File) -> String {
    let (mut text, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(text).expect("the line is text")
}

fn shown(arguments: &[&str]) -> (String, String) {
    let (reader, writer) = terminal();
    let child = Command::new(env!("CARGO_BIN_EXE_truepace"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::from(writer))
        .spawn()
        .expect("the program starts");
    let text = everything(reader);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{text}");
    (text, String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn each_second_is_reported_and_the_line_is_wiped_before_the_report() {
    let server = Server::ok();
    let (live, report) = shown(&["-t1", "-c1", "-R200", "-d2s", &server.url("/")]);
    let lines: Vec<&str> = live.split("\r\x1b[K").collect();
    // Nothing before the first line, and after the last wipe no more than what makes the figures doubtful.
    assert_eq!(lines.first(), Some(&""), "{live:?}");
    assert!(lines.last().is_some_and(|last| last.is_empty() || last.starts_with("truepace: ")), "{live:?}");
    for (second, line) in lines[1..lines.len() - 1].iter().enumerate() {
        assert!(line.starts_with(&format!("{} s of 2s: ", second + 1)), "{live:?}");
        for part in [" responses/s, response p50 ", ", p99 ", ", service p50 ", ", errors 0 (status 0)"] {
            assert!(line.contains(part), "'{part}' is missing in {line}");
        }
    }
    assert_eq!(lines.len(), 4, "{live:?}");
    assert!(report.contains("Requests/sec:") && !report.contains('\x1b'), "{report}");
}

#[test]
fn a_run_bounded_by_its_requests_promises_no_length() {
    let server = Server::ok();
    let (live, _) = shown(&["-t1", "-c1", "-R100", "-n150", &server.url("/")]);
    assert!(live.contains("\r\x1b[K1 s: ") && !live.contains(" s of "), "{live:?}");
}
