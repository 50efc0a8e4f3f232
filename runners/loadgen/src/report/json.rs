//! The report for programs. Its fields are described in `docs/json.md`.

use super::Outcome;
use super::spectrum::points;
use crate::cli::Config;
use crate::error::{Error, Result};
use crate::record::{Distribution, Histogram, Summary, Times};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Name and version of the format; the number grows when a field changes its meaning.
pub const SCHEMA: &str = "loadgen/1";
/// Percentiles and their names.
pub const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 50.0),
    ("p75", 75.0),
    ("p90", 90.0),
    ("p99", 99.0),
    ("p99_9", 99.9),
    ("p99_99", 99.99),
    ("p99_999", 99.999),
];

/// Opens the file before the run, so that a wrong path is told before and not after it.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|error| {
        Error::CouldNotRun(format!("cannot write {}: {error}; name another file with --json", path.display()))
    })
}

/// Writes the report.
///
/// # Errors
/// [`Error::CouldNotRun`] when the disk is full or the like.
pub fn write(mut file: File, config: &Config, outcome: &Outcome) -> Result<()> {
    let text = lines(&document(config, outcome));
    file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| {
        Error::CouldNotRun(format!(
            "cannot write the JSON report: {error}; free some space or name another file with --json"
        ))
    })
}

/// One line a top-level field: it can be read and compared line by line, and the spectra do not fill screens.
fn lines(document: &Value) -> String {
    let fields = document.as_object().into_iter().flatten();
    let fields: Vec<String> = fields.map(|(name, value)| format!("  {}: {value}", json!(name))).collect();
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

/// The report as a value.
pub fn document(config: &Config, outcome: &Outcome) -> Value {
    let counts = &outcome.collected.total.counts;
    let errors = &counts.errors;
    let status: Map<String, Value> = outcome
        .collected
        .total
        .status
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(code, count)| (code.to_string(), json!(count)))
        .collect();
    let classes: Map<String, Value> = outcome
        .classes()
        .map(|(class, response, service)| {
            (format!("{class}xx"), json!({"response": distribution(&response), "service": distribution(&service)}))
        })
        .collect();
    let end_unix_us = outcome.start_unix_us + (outcome.elapsed_s * 1e6) as u64;
    json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "command": config.command,
        "url": config.target.url,
        "mode": if config.rate.is_some() { "open" } else { "closed" },
        "arrival": config.rate.as_ref().map(|_| config.arrival.name()),
        "start_unix_us": outcome.start_unix_us,
        "end_unix_us": end_unix_us,
        "threads": config.threads,
        "connections": config.total_connections(),
        "offered_rps": outcome.offered_rps,
        "offered_rps_range": config.rate.as_ref().map(|rate| rate.range_rps()),
        "warmup_s": config.warmup_s,
        "duration_s": config.duration_s,
        "elapsed_s": outcome.elapsed_s,
        "requests": {
            "scheduled": outcome.scheduled(),
            "sent": counts.sent,
            "completed": counts.completed,
            "failed": counts.failed,
            "censored": counts.censored,
            "unsent": counts.unsent,
            "warmup_sent": counts.warmup_sent,
            "warmup_completed": counts.warmup_completed,
            "warmup_unsent": counts.warmup_unsent,
        },
        "achieved_rps": outcome.achieved_rps,
        "bytes": {"read": counts.bytes_read, "written": counts.bytes_written},
        "status": status,
        "errors": {
            "connect": errors.connect,
            "read": errors.read,
            "write": errors.write,
            "timeout": errors.timeout,
            "parse": errors.parse,
            "status": errors.status,
        },
        "connects": counts.connects,
        "reconnects": counts.reconnects,
        "latency_us": {"response": distribution(&outcome.response), "service": distribution(&outcome.service)},
        "latency_us_by_class": classes,
        "spectrum": {"response": spectrum(&outcome.response), "service": spectrum(&outcome.service)},
        "intervals": intervals(outcome),
        "generator": {
            "cpu_user_s": outcome.cpu.user_s,
            "cpu_system_s": outcome.cpu.system_s,
            "peak_memory_bytes": crate::usage::peak_memory_bytes(),
            "lag_us": lag(&outcome.collected.total.lag),
            "coalesce_us": config.rate.as_ref().map(|_| outcome.interface.coalesce_ns as f64 / 1e3),
            "held": counts.held,
            "kept_up": outcome.verdict.kept_up,
            "verdict": outcome.verdict.sentence,
            "io": outcome.interface.io,
            "receive_clock": outcome.interface.receive_clock.name(),
        },
        "objectives": outcome
            .objectives
            .iter()
            .map(|one| json!({"objective": one.objective, "measured": one.measured, "met": one.met}))
            .collect::<Vec<_>>(),
        "interrupted": outcome.interrupted,
    })
}

fn distribution(times: &Distribution) -> Value {
    let mut fields = Map::new();
    fields.insert("count".into(), json!(times.histogram().len()));
    fields.insert("censored".into(), json!(times.censored()));
    fields.insert("min".into(), json!(times.min_us()));
    fields.insert("mean".into(), json!(times.mean_us()));
    fields.insert("stdev".into(), json!(times.stdev_us()));
    fields.insert("max".into(), json!(times.max_us()));
    let mut bounds = Vec::new();
    for (name, percent) in PERCENTILES {
        let percentile = times.percentile(percent);
        fields.insert(name.into(), json!(percentile.value_us));
        if percentile.at_least {
            bounds.push(name);
        }
    }
    if times.percentile(100.0).at_least {
        bounds.push("max");
    }
    fields.insert("at_least".into(), json!(bounds));
    Value::Object(fields)
}

/// The percentile spectrum as rows of microseconds, percentile (0 to 1) and requests up to there.
pub(crate) fn spectrum(times: &Distribution) -> Vec<(f64, f64, u64)> {
    points(times).iter().map(|point| (point.value_us, point.percentile, point.total_count)).collect()
}

fn lag(lag: &Histogram) -> Value {
    let at = |quantile: f64| lag.value_at_quantile(quantile).min(lag.max()) as f64 / 1000.0;
    json!({"count": lag.len(), "p50": at(0.5), "p99": at(0.99), "p99_9": at(0.999), "max": at(1.0)})
}

fn intervals(outcome: &Outcome) -> Vec<Value> {
    let times = |times: &Times| {
        json!({
            "count": times.count, "p50_us": times.p50_us, "p90_us": times.p90_us, "p99_us": times.p99_us,
            "p99_9_us": times.p99_9_us, "max_us": times.max_us,
        })
    };
    let last = outcome.collected.seconds.last().map_or(0, |second| second.index);
    let interval = |second: &Summary| {
        let start_s = f64::from(second.index);
        let duration_s = if second.index == last { (outcome.elapsed_s - start_s).max(0.0) } else { 1.0 };
        json!({
            "t_s": start_s,
            "duration_s": duration_s,
            "sent": second.counts.sent,
            "completed": second.counts.completed,
            "errors": second.counts.errors.total(),
            "response": times(&second.response),
            "service": times(&second.service),
        })
    };
    outcome.collected.seconds.iter().map(interval).collect()
}
