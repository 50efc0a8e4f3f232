//! `--slo` decides the exit code, and percentile tables are written with the other reports, by status class too.

use crate::support::{LONGER_THAN_A_RUN, Scratch, Server, run};
use std::io::Write;

#[test]
fn objectives_that_are_met_are_code_0_and_missed_ones_code_3() {
    let server = Server::start(|stream, seen| {
        let status = if seen.number % 10 == 9 { "503 Busy" } else { "200 OK" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    let line = |list: &str| run(&format!("-t1 -c2 -R 200 -d 1s --slo {list} {}", server.url("/")));
    let met = line("p50=1s,max=10s,mean=1s,errors=20,errors=10%,achieved=50%");
    assert_eq!(met.code, Some(0), "{}", met.stdout);
    assert!(met.json["objectives"].as_array().unwrap().iter().all(|objective| objective["met"] == true));
    for list in ["errors=0", "errors=1%", "p99=1us", "p50=1s,mean=1us"] {
        let missed = line(list);
        assert_eq!(missed.code, Some(3), "{list}: {}", missed.stdout);
        assert!(missed.stderr.contains("missed: measured"), "{}", missed.stderr);
    }
}

#[test]
fn an_objective_that_requests_without_a_response_leave_open_is_missed() {
    let server = Server::start(|stream, seen| {
        if seen.number >= 150 {
            std::thread::sleep(LONGER_THAN_A_RUN);
        }
        stream.write_all(crate::support::OK).is_ok()
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
    let run = run(&format!("-t1 -c1 -R 200 -n 100 --timeout 10s --hgrm {} {}", path.display(), server.url("/")));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for name in ["out.hgrm", "out.hgrm.service"] {
        let text = std::fs::read_to_string(scratch.0.join(name)).unwrap();
        assert!(text.trim_start().starts_with("Value   Percentile   TotalCount 1/(1-Percentile)"), "{text}");
        assert!(text.contains("Total count    =          100]"), "{text}");
    }
}

#[test]
fn each_status_class_has_its_own_figures_where_there_are_several() {
    let server = Server::start(|stream, seen| {
        let status = if seen.number % 4 == 3 { "404 Not Found" } else { "201 Created" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    let scratch = Scratch::new();
    let (hgrm, hlog) = (scratch.0.join("out.hgrm"), scratch.0.join("out.hlog"));
    let stale = scratch.file("out.hgrm.5xx", "of an earlier run");
    let files = format!("--hgrm {} --hlog {}", hgrm.display(), hlog.display());
    let run = run(&format!("-t1 -c1 -R 200 -n 200 --summary {files} {}", server.url("/")));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for (name, count) in [
        ("out.hgrm", 200),
        ("out.hgrm.service", 200),
        ("out.hgrm.2xx", 150),
        ("out.hgrm.service.2xx", 150),
        ("out.hgrm.4xx", 50),
        ("out.hgrm.service.4xx", 50),
    ] {
        let text = std::fs::read_to_string(scratch.0.join(name)).unwrap();
        assert!(text.contains(&format!("Total count    = {count:12}]")), "{name}: {text}");
    }
    assert!(!stale.exists(), "a class that did not come has no table");
    let log = std::fs::read_to_string(hlog).unwrap();
    assert!(log.contains("Tag=response_4xx,") && log.contains("Tag=service_4xx,"), "{log}");
    for text in [
        "truepace: status codes 201: 150, 404: 50\n",
        "truepace: 2xx response time p50 ",
        "truepace: 4xx response time p50 ",
        "; service time p50 ",
        "; connects 1, reconnects 0\n",
    ] {
        assert!(run.stdout.contains(text), "'{text}' is missing in {}", run.stdout);
    }
}

#[test]
fn responses_of_one_class_are_reported_once() {
    let server = Server::ok();
    let scratch = Scratch::new();
    let hgrm = scratch.0.join("out.hgrm");
    let run = run(&format!("-t1 -c1 -R 200 -d 500ms --summary --hgrm {} {}", hgrm.display(), server.url("/")));
    assert!(!scratch.0.join("out.hgrm.2xx").exists() && !run.stdout.contains("2xx response time"), "{}", run.stdout);
    for kind in ["response", "service"] {
        assert!(run.stdout.contains(&format!("truepace: {kind} time p50 ")), "{}", run.stdout);
    }
}
