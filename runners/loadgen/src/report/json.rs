//! The report for programs. Its fields are described in `docs/json.md`.

use super::outcome::lag_us;
use super::spectrum::points;
use super::{Outcome, Run};
use crate::cli::{Config, QueueKind};
use crate::error::{Error, Result};
use crate::record::{Comparison, Distribution, Histogram, Interval95, Summary, Times};
use crate::schedule::Share;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Name and version of the format; the number grows when a field changes its meaning.
pub const SCHEMA: &str = "truepace/1";
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

/// Opens the file before the run, so that a wrong path is reported before and not after it.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|error| {
        Error::CouldNotRun(format!("cannot write {}: {error}; name another file with --json", path.display()))
    })
}

/// The report as it stands in the file.
pub fn text(config: &Config, run: &Run) -> String {
    lines(&document(config, run))
}

/// Writes the report, or leaves the file empty.
///
/// # Errors
/// When the disk is full or the like.
pub fn write(mut file: File, text: &str) -> io::Result<()> {
    // A pipe cannot be synced.
    let sync = |file: &File| if file.metadata()?.is_file() { file.sync_data() } else { Ok(()) };
    file.write_all(text.as_bytes()).and_then(|()| sync(&file)).inspect_err(|_| {
        // Half a report is none; what is no file has no length.
        let _ = file.set_len(0);
    })
}

/// One line a top-level field: it can be read and compared line by line, and the spectra do not fill screens.
fn lines(document: &Value) -> String {
    let fields = document.as_object().into_iter().flatten();
    let fields: Vec<String> = fields.map(|(name, value)| format!("  {}: {value}", json!(name))).collect();
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

/// The report as a value.
pub fn document(config: &Config, run: &Run) -> Value {
    let conditions = &run.whole.conditions;
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
    put("schema", json!(SCHEMA));
    put("version", json!(env!("CARGO_PKG_VERSION")));
    put("command", json!(config.command));
    put("url", json!(config.first().target.url));
    put("mode", json!(if config.rate.is_some() { "open" } else { "closed" }));
    put("arrival", json!(config.rate.as_ref().map(|_| config.arrival.name())));
    put(
        "queue",
        json!(config.rate.as_ref().map(|_| match config.queue {
            QueueKind::Connection => "connection",
            QueueKind::Shared => "shared",
        })),
    );
    put("start_unix_us", json!(conditions.start_unix_us));
    put("end_unix_us", json!(conditions.start_unix_us + (conditions.elapsed_s * 1e6) as u64));
    put("threads", json!(config.threads));
    put("connections", json!(config.total_connections() * config.targets.len()));
    put("share", json!((config.share != Share::WHOLE).then(|| config.share.to_string())));
    put("offered_rps_range", json!(config.offered_range_rps()));
    put("warmup_s", json!(config.warmup_s));
    put("duration_s", json!(config.duration_s));
    put("elapsed_s", json!(conditions.elapsed_s));
    document.extend(fields(&run.whole, run));
    let mut put = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
    if !run.targets.is_empty() {
        put("interleave", json!({"how": config.interleave.name(), "seed": config.seed}));
        let targets = run.targets.iter().zip(&config.targets).map(|(outcome, target)| {
            let mut fields = fields(outcome, run);
            fields.insert("name".into(), json!(target.name));
            fields.insert("url".into(), json!(target.target.url));
            fields.insert("weight".into(), json!(target.weight));
            fields.insert("connections".into(), json!(config.total_connections()));
            Value::Object(fields)
        });
        put("targets", targets.collect());
        put("comparison", run.comparison.as_ref().map_or(Value::Null, |comparison| compared(config, comparison)));
    }
    put("requests_dropped", json!(run.requests_dropped));
    put("interrupted", json!(conditions.interrupted));
    put("failure", json!(run.failure.as_ref().map(ToString::to_string).or(run.left_behind_sentence())));
    Value::Object(document)
}

/// The fields that each target and all together have.
fn fields(outcome: &Outcome, run: &Run) -> Map<String, Value> {
    let counts = &outcome.collected.total.counts;
    let errors = &counts.errors;
    let conditions = &outcome.conditions;
    let codes = outcome.collected.total.status.iter().enumerate().filter(|(_, count)| **count > 0);
    let status: Map<String, Value> = codes.map(|(code, count)| (code.to_string(), json!(count))).collect();
    let pair = |response: &Distribution, service: &Distribution| json!({"response": distribution(response), "service": distribution(service)});
    let classes = outcome.classes().map(|(class, response, service)| (format!("{class}xx"), pair(&response, &service)));
    let operations = outcome.operations().map(|(tag, response, service)| {
        (run.tags.get(tag - 1).cloned().unwrap_or_else(|| tag.to_string()), pair(&response, &service))
    });
    let clocks = outcome.clocks().into_iter();
    let clocks = clocks.map(|(clock, response, service)| (clock.name().to_owned(), pair(&response, &service)));
    // A run pays for one way of reading the clock; what the other costs takes a run of its own.
    let (own, other) = conditions.interface.receive_clock.and_other();
    let cpu = json!({own.name(): run.whole.cpu_us_per_request(), other.name(): null});
    let failures = outcome.failures.iter().map(|(cause, failure)| {
        json!({
            "cause": cause.name(), "counted_as": cause.counted_as(), "count": failure.count,
            "first_s": failure.first_ns as f64 / 1e9, "first": failure.first.text, "protocol": failure.first.protocol,
        })
    });
    let fields = json!({
        "offered_rps": outcome.offered_rps,
        "achieved_rps": outcome.achieved_rps,
        "loaded_s": outcome.loaded_s,
        "requests": {
            "scheduled": outcome.scheduled(),
            "sent": counts.sent,
            "completed": counts.completed,
            "completed_late": counts.completed_late,
            "completed_after_slice": counts.completed_after_slice,
            "failed": counts.failed,
            "censored": counts.censored,
            "unsent": counts.unsent,
            "warmup_sent": counts.warmup_sent,
            "warmup_completed": counts.warmup_completed,
            "warmup_unsent": counts.warmup_unsent,
        },
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
        "failures": failures.collect::<Vec<_>>(),
        "shortfall": outcome.shortfall,
        "connects": counts.connects,
        "reconnects": counts.reconnects,
        "closed_idle": counts.closed_idle,
        "reconnect_us": outcome.collected.total.reconnect.as_deref().map(times_us),
        "waited_for_connection_us": outcome.offered_rps.and(outcome.connection_waits()).map(times_us),
        "latency_us": pair(&outcome.response, &outcome.service),
        "latency_us_by_class": classes.collect::<Map<_, _>>(),
        "latency_us_by_operation": operations.collect::<Map<_, _>>(),
        "latency_us_by_clock": clocks.collect::<Map<_, _>>(),
        "spectrum": {"response": spectrum(&outcome.response), "service": spectrum(&outcome.service)},
        "intervals": intervals(outcome),
        "generator": {
            "cpu_user_s": conditions.cpu.user_s,
            "cpu_system_s": conditions.cpu.system_s,
            "cpu_us_per_request_by_clock": cpu,
            "peak_memory_bytes": crate::usage::peak_memory_bytes(),
            "lag_us": times_us(&outcome.collected.total.lag),
            "coalesce_us": outcome.offered_rps.map(|_| conditions.interface.coalesce_ns as f64 / 1e3),
            "stalled_s": conditions.stalled_s,
            "longest_stall_s": conditions.longest_stall_s,
            "held": counts.held,
            "rested": counts.deferred_reads,
            "unstamped": counts.unstamped,
            "kept_up": outcome.verdict.kept_up,
            "kept_up_to": outcome.verdict.kept_up_to,
            "verdict": outcome.verdict.sentence,
            "io": conditions.interface.io,
            "receive_clock": conditions.interface.receive_clock.name(),
        },
        "objectives": outcome
            .objectives
            .iter()
            .map(|result| json!({"objective": result.objective, "measured": result.measured, "met": result.met}))
            .collect::<Vec<_>>(),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Targets compared.
fn compared(config: &Config, comparison: &Comparison) -> Value {
    let name = |target: usize| config.targets[target].name.as_str();
    let bounds = |interval: Interval95| [interval.low, interval.high];
    let ratios = comparison.ratios().into_iter().map(|ratio| {
        json!({
            "target": name(ratio.target), "baseline": name(0), "quantity": ratio.quantity, "percent": ratio.percent,
            "ratio": ratio.ratio, "interval_95": ratio.interval.map(bounds),
        })
    });
    let carry_over = comparison.carry_over().into_iter().map(|row| {
        json!({
            "target": name(row.target), "predecessor": name(row.predecessor), "count": row.count,
            "service_p50_us": row.p50_us, "interval_95": bounds(row.interval),
        })
    });
    let (stretches, stretch_s) = comparison.stretches().unzip();
    json!({
        "stretches": stretches,
        "stretch_s": stretch_s,
        "ratios": ratios.collect::<Vec<_>>(),
        "carry_over": carry_over.collect::<Vec<_>>(),
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

/// Times in microseconds.
fn times_us(times: &Histogram) -> Value {
    let at = |percent: f64| lag_us(times, percent);
    json!({
        "count": times.len(), "p50": at(50.0), "p90": at(90.0), "p99": at(99.0), "p99_9": at(99.9), "max": at(100.0),
    })
}

fn intervals(outcome: &Outcome) -> Vec<Value> {
    let times = |times: &Times| {
        json!({
            "count": times.count, "p50_us": times.p50_us, "p90_us": times.p90_us, "p99_us": times.p99_us,
            "p99_9_us": times.p99_9_us, "max_us": times.max_us,
        })
    };
    let last = outcome.collected.seconds.last().map_or(0, |second| second.index);
    let open = outcome.offered_rps.is_some();
    let interval = |second: &Summary| {
        let start_s = f64::from(second.index);
        let left_s = (outcome.conditions.elapsed_s - start_s).max(0.0);
        let duration_s = if second.index == last { left_s } else { second.duration_s };
        json!({
            "t_s": start_s,
            "duration_s": duration_s,
            "sent": second.counts.sent,
            "completed": second.counts.completed,
            "errors": second.counts.errors.total(),
            "response": times(&second.response),
            "service": times(&second.service),
            "lag_max_us": open.then(|| second.most_lag_ns.map(|lag_ns| lag_ns as f64 / 1e3)),
        })
    };
    outcome.collected.seconds.iter().map(interval).collect()
}
