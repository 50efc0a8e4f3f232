//! The JSON report and its description name the same fields.

use crate::support::{Server, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;

const DOCUMENT: &str = include_str!("../../docs/json.md");

/// Every word that the document sets as code.
fn described() -> BTreeSet<&'static str> {
    DOCUMENT.split('`').skip(1).step_by(2).collect()
}

/// Names of fields, whatever their depth; keys that are data (status codes and classes) stand for themselves nowhere.
fn names<'a>(value: &'a Value, into: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if !name.starts_with(|letter: char| letter.is_ascii_digit()) {
                    into.insert(name);
                }
                names(value, into);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, into)),
        _ => {}
    }
}

fn report() -> Value {
    let server = Server::start(|stream, seen| {
        let status = if seen.number % 4 == 3 { "404 Not Found" } else { "200 OK" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    run(&format!("-t1 -c1 -R 200 -d 300ms --slo errors=1 {}", server.url("/"))).json
}

#[test]
fn every_field_of_the_report_is_described() {
    let report = report();
    let mut reported = BTreeSet::new();
    names(&report, &mut reported);
    let described = described();
    let missing: Vec<_> = reported.iter().filter(|name| !described.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/json.md says nothing of {missing:?}");
    assert!(reported.len() > 60, "{reported:?}");
}

#[test]
fn every_field_of_the_first_table_is_in_the_report_in_its_order() {
    let report = report();
    let table = DOCUMENT.split("## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let reported: Vec<&str> = rows.flat_map(|row| row.trim_end_matches('`').split("`, `")).collect();
    assert_eq!(reported, report.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>());
    assert!(DOCUMENT.contains(&format!("schema `{}`", report["schema"].as_str().unwrap())));
}
