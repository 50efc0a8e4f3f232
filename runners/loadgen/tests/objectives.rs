//! `--slo` decides the exit code, and percentile tables are written beside the other reports.

mod support;

use std::io::Write;
use support::{Scratch, Server, run};

#[test]
fn objectives_that_are_met_are_code_0_and_missed_ones_code_3() {
    let server = Server::start(|stream, seen| {
        let status = if seen.number % 10 == 9 { "503 Busy" } else { "200 OK" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    let line = |list: &str| run(&format!("-t1 -c2 -R 200 -d 1s --slo {list} {}", server.url("/")));
    let met = line("p50=1s,max=10s,mean=1s,errors=20,errors=10%,achieved=90%");
    assert_eq!(met.code, Some(0), "{}", met.stdout);
    assert!(met.json["objectives"].as_array().unwrap().iter().all(|one| one["met"] == true));
    for list in ["errors=0", "errors=1%", "p99=1us", "p50=1s,mean=1us"] {
        let missed = line(list);
        assert_eq!(missed.code, Some(3), "{list}: {}", missed.stdout);
        assert!(missed.stdout.contains("missed: measured"), "{}", missed.stdout);
    }
}

#[test]
fn an_objective_that_unanswered_requests_leave_open_is_missed() {
    let server = Server::start(|stream, seen| {
        if seen.number >= 150 {
            std::thread::sleep(std::time::Duration::from_secs(5));
        }
        stream.write_all(support::OK).is_ok()
    });
    let run = run(&format!("-t1 -c1 -R 200 -d 1s --slo p99=3s {}", server.url("/")));
    assert_eq!(run.code, Some(3));
    assert!(run.json["objectives"][0]["measured"].as_str().unwrap().starts_with(">= "), "{}", run.json["objectives"]);
}

#[test]
fn percentile_tables_hold_all_requests() {
    let server = Server::ok();
    let scratch = Scratch::new();
    let path = scratch.0.join("out.hgrm");
    let run = run(&format!("-t1 -c1 -R 200 -d 500ms --hgrm {} {}", path.display(), server.url("/")));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for name in ["out.hgrm", "out.hgrm.service"] {
        let text = std::fs::read_to_string(scratch.0.join(name)).unwrap();
        assert!(text.trim_start().starts_with("Value   Percentile   TotalCount 1/(1-Percentile)"), "{text}");
        assert!(text.contains("Total count    =          100]"), "{text}");
    }
}
