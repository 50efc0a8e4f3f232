//! No connection at all: what a script's `request()` costs by itself.

use crate::cli;
use crate::error::{Error, Result};
use crate::lua::Script;
use crate::tags::Tags;
use crate::usage::Cpu;
use crate::worker::Source;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Calls before the first one that counts: LuaJIT has compiled by then what it will compile.
const WARM_CALLS: u64 = 20_000;
/// Calls between two looks at the clock.
const BATCH: u64 = 1_000;

/// Calls `request()` for `duration`, on the way that the load generator takes, and gives processor time a call.
///
/// # Errors
/// Those of the script, and [`Error::Usage`] for a URL that is none.
pub(super) fn run(script: &Path, url: &str, duration: Duration) -> Result<Value> {
    let words = ["truepace", "-c1", "-s", &script.display().to_string(), url].map(str::to_owned);
    let config = cli::parse(words.to_vec())?;
    let mut state = Script::load(config.first(), &Tags::default())?;
    state.init(url, &[])?;
    let mut source = Source::new(state)?;
    if !source.script().is_dynamic() {
        return Err(Error::Usage(format!("{} has no request() to measure", script.display())));
    }
    for _ in 0..WARM_CALLS {
        source.advance()?;
    }
    let (cpu, begun) = (Cpu::of_thread(), Instant::now());
    let (mut calls, mut bytes) = (0, 0);
    while begun.elapsed() < duration {
        for _ in 0..BATCH {
            source.advance()?;
            bytes += source.text().len();
        }
        calls += BATCH;
    }
    let spent_s = Cpu::of_thread().since(cpu).total_s();
    Ok(json!({
        "schema": "truepace-reference/1",
        "version": env!("CARGO_PKG_VERSION"),
        "kind": "script",
        "calls": calls,
        "mean_request_bytes": bytes as f64 / calls as f64,
        "us_a_call": spent_s * 1e6 / calls as f64,
    }))
}
