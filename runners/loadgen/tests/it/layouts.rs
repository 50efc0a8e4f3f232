//! The report is wrk's in a closed loop and wrk2's in an open one, line by line; what they lack comes on request.

use crate::support::{LONGER_THAN_A_RUN, OK, Server, run};
use std::io::Write;

/// A report's lines; each row of figures is cut to its name.
fn layout(stdout: &str) -> Vec<String> {
    let figures =
        ["    Latency", "    Req/Sec", "Requests/sec:", "Transfer/sec:", "#[Mean    =", "#[Max     =", "#[Buckets ="];
    let known = |line: &str| figures.iter().find(|name| line.starts_with(**name)).map(|name| (*name).to_owned());
    stdout.lines().map(|line| known(line).unwrap_or_else(|| line.to_owned())).collect()
}

/// A row of a table of percentiles: `%` after so many letters, then a time in ten, the place of its unit included.
fn is_row(line: &str, percent: &str) -> bool {
    let Some(time) = line.strip_prefix(percent).and_then(|rest| rest.strip_prefix('%')) else { return false };
    let [us, ms, s] = ["us", "ms", "s "].map(|unit| time.strip_suffix(unit));
    let figure = us.or(ms).or(s).map(str::trim_start);
    let digits = figure.and_then(|figure| figure.split_once('.')).map(|(_, digits)| digits.len());
    time.len() == 10 && digits == Some(2)
}

const HEAD: &str = "  Thread Stats   Avg      Stdev     Max   +/- Stdev";

#[test]
fn in_a_closed_loop_the_report_is_wrk_s() {
    let server = Server::ok();
    let url = server.url("/");
    let run = run(&format!("-t1 -c2 -d1s --latency {url}"));
    let lines = layout(&run.stdout);
    let requests = run.count("/requests/completed");
    assert_eq!(lines[..2], [format!("Running 1s test @ {url}"), "  1 threads and 2 connections".into()]);
    assert_eq!(lines[2..6], [HEAD, "    Latency", "    Req/Sec", "  Latency Distribution"]);
    for (line, percent) in lines[6..10].iter().zip(["     50", "     75", "     90", "     99"]) {
        assert!(is_row(line, percent), "{line}");
    }
    assert!(
        lines[10].starts_with(&format!("  {requests} requests in 1.")) && lines[10].ends_with("B read"),
        "{}",
        lines[10]
    );
    assert_eq!(lines[11..], ["Requests/sec:", "Transfer/sec:"]);
}

#[test]
fn in_an_open_loop_the_report_is_wrk2_s() {
    let server = Server::ok();
    let url = server.url("/");
    let run = run(&format!("-t1 -c2 -R200 -n200 --latency {url}"));
    is_wrk2_s(&layout(&run.stdout), 200, &[]);
}

#[test]
fn with_wrk_compat_the_report_is_wrk2_s_and_nothing_else() {
    let server = Server::ok();
    let url = server.url("/");
    // wrk2 shares connections out evenly, and names those that were asked for.
    let run = run(&format!("--wrk-compat -t2 -c5 -R200 -d1s -L -U {url}"));
    let lines = layout(&run.stdout);
    assert_eq!(lines[..2], [format!("Running 1s test @ {url}"), "  2 threads and 5 connections".into()]);
    let uncorrected = "  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))";
    is_wrk2_s(&lines, run.count("/requests/completed"), &["", uncorrected]);
    assert!(!run.stdout.contains("truepace"), "{}", run.stdout);
}

/// Checks a report from its third line on; `second` are the lines before its second table of percentiles, if it has one.
fn is_wrk2_s(lines: &[String], requests: u64, second: &[&str]) {
    assert_eq!(lines[2..5], [HEAD, "    Latency", "    Req/Sec"]);
    assert_eq!(lines[5], "  Latency Distribution (HdrHistogram - Recorded Latency)");
    let mut rest = after_a_spectrum(&lines[6..]);
    if !second.is_empty() {
        assert_eq!(rest[..second.len()], *second);
        rest = after_a_spectrum(&rest[second.len()..]);
    }
    assert!(rest[0].starts_with(&format!("  {requests} requests in ")), "{}", rest[0]);
    assert_eq!(rest[1..], ["Requests/sec:", "Transfer/sec:"]);
}

/// Checks a table of percentiles and the spectrum under it; gives the lines behind them.
fn after_a_spectrum(lines: &[String]) -> &[String] {
    let percents = [" 50.000", " 75.000", " 90.000", " 99.000", " 99.900", " 99.990", " 99.999", "100.000"];
    for (line, percent) in lines[..8].iter().zip(percents) {
        assert!(is_row(line, percent), "{line}");
    }
    let columns = "       Value   Percentile   TotalCount 1/(1-Percentile)";
    assert_eq!(lines[8..12], ["", "  Detailed Percentile spectrum:", columns, ""]);
    let end = lines.iter().position(|line| line.starts_with("#[Mean")).expect("the end of a spectrum");
    for line in &lines[12..end] {
        let columns: Vec<&str> = line.split_whitespace().collect();
        assert!(
            line.len() == 51 && columns.len() == 4 && columns[0].split_once('.').is_some_and(|(_, ms)| ms.len() == 3),
            "{line}"
        );
    }
    assert_eq!(lines[end..end + 3], ["#[Mean    =", "#[Max     =", "#[Buckets ="]);
    assert_eq!(lines[end + 3], "-".repeat(58));
    &lines[end + 4..]
}

#[test]
fn errors_stand_where_wrk_has_them() {
    let server = Server::start(|stream, seen| match seen.number % 3 {
        0 => stream.write_all(OK).is_ok(),
        1 => stream.write_all(b"HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n").is_ok(),
        _ => false,
    });
    let run = run(&format!("-t1 -c1 -R100 -n30 {}", server.url("/")));
    let lines = layout(&run.stdout);
    assert!(lines[5].starts_with("  20 requests in "), "{lines:?}");
    let errors = ["  Socket errors: connect 0, read 10, write 0, timeout 0", "  Non-2xx or 3xx responses: 10"];
    assert_eq!(lines[6..], [errors[0], errors[1], "Requests/sec:", "Transfer/sec:"]);
}

#[test]
fn what_the_originals_lack_is_printed_on_request_only() {
    let server = Server::ok();
    for mode in ["-n20", "-R200 -n20"] {
        let plain = run(&format!("-t1 -c1 {mode} {}", server.url("/")));
        assert!(!plain.stdout.contains("truepace: "), "{}", plain.stdout);
        let more = run(&format!("-t1 -c1 {mode} --summary {}", server.url("/")));
        let first = layout(&plain.stdout).len();
        assert!(first < layout(&more.stdout).len(), "{}", more.stdout);
        assert!(more.stdout.lines().skip(first).all(|line| line.starts_with("truepace: ")), "{}", more.stdout);
        assert!(more.stdout.contains("scheduled 20, sent 20, completed 20"), "{}", more.stdout);
        assert!(!more.stderr.contains("truepace: "), "{}", more.stderr);
    }
}

#[test]
fn figures_that_mislead_are_commented_without_being_asked_for() {
    let server = Server::start(|stream, seen| {
        if seen.number == 9 {
            std::thread::sleep(LONGER_THAN_A_RUN);
        }
        stream.write_all(OK).is_ok()
    });
    let run = run(&format!("-t1 -c1 -R20 -d1s {}", server.url("/")));
    let unsent = run.count("/requests/unsent");
    assert!(!run.stdout.contains("truepace: ") && unsent > 0, "{}", run.stdout);
    for part in [
        "truepace: of 20 requests ",
        &format!("{unsent} were never sent"),
        "truepace: bound 50.000% >= ",
        ", 99.000% >= ",
    ] {
        assert!(run.stderr.contains(part), "'{part}' is missing in {}", run.stderr);
    }
}
