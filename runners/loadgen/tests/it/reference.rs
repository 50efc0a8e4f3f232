//! The reference clients keep their rate and measure what the generator measures.

use crate::support::{Server, agrees};
use serde_json::Value;
use std::process::Command;

fn reference(line: &str) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_truepace-reference")).args(line.split_whitespace()).output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

#[test]
fn both_kinds_keep_their_rate() {
    let server = Server::ok();
    for line in ["--kind blocking", "--kind epoll -c 8"] {
        if line.contains("epoll") && !cfg!(target_os = "linux") {
            continue;
        }
        agrees(|| {
            let (code, report) = reference(&format!("{line} -R 1000 -d 1s --warmup 200ms {}", server.url("/")));
            assert_eq!(code, Some(0), "{line}");
            // These simple clients count no request without a response: the machine must not stall at the end.
            let counts = &report["requests"];
            if (counts["sent"].as_u64(), counts["completed"].as_u64()) != (Some(1000), Some(1000)) {
                return Err(format!("{line}: {counts}"));
            }
            let p50 = |kind: &str| report["latency_us"][kind]["p50"].as_f64().unwrap();
            let last = report["spectrum"]["response"].as_array().and_then(|rows| rows.last()).unwrap();
            assert_eq!((last[1].as_f64(), last[2].as_u64()), (Some(1.0), Some(1000)), "{line}");
            assert!(p50("service") > 0.0 && p50("service") <= p50("response"), "{line}: {report}");
            Ok(())
        });
    }
}

#[test]
fn wrong_flags_and_absent_servers_are_reported() {
    assert_eq!(reference("--kind blocking -c 2 -R 10 http://127.0.0.1:9/").0, Some(1));
    assert_eq!(reference("--kind blocking -R 10 http://127.0.0.1:9/").0, Some(2));
    assert_eq!(reference("--kind neither -R 10 http://127.0.0.1:9/").0, Some(1));
}
