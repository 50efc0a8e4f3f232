//! `done(summary, latency, requests)`: the end of a run, told to a script in wrk2's units.

use super::Script;
use crate::error::Result;
use crate::record::{Errors, Histogram};
use mlua::{MetaMethod, UserData, UserDataMethods, Value, Variadic};

/// What a run came to, for `summary`.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Microseconds.
    pub duration_us: u64,
    /// Completed requests.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Errors by kind.
    pub errors: Errors,
}

/// Makes an [`Ended`].
pub fn ended(duration_us: u64, requests: u64, bytes: u64, errors: Errors) -> Ended {
    Ended { duration_us, requests, bytes, errors }
}

/// Values in the unit that scripts expect: microseconds of latency, or answers a second of each thread.
struct Stats {
    histogram: Histogram,
    /// What one unit of the histogram is worth in the script's unit.
    scale: f64,
}

impl Stats {
    fn at_quantile(&self, quantile: f64) -> f64 {
        self.scaled(self.histogram.value_at_quantile(quantile.clamp(0.0, 1.0)).min(self.histogram.max()))
    }

    /// wrk gives whole numbers, and scripts print them with `%d`.
    fn scaled(&self, value: u64) -> f64 {
        (value as f64 * self.scale).round()
    }

    /// wrk: the i-th distinct value and how often it came.
    fn distinct(&self, index: usize) -> (f64, f64) {
        let found = self.histogram.iter_recorded().nth(index.saturating_sub(1));
        found.map_or((0.0, 0.0), |value| (self.scaled(value.value_iterated_to()), value.count_at_value() as f64))
    }
}

impl UserData for Stats {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, stats, percent: f64| Ok(stats.at_quantile(percent / 100.0)));
        methods.add_meta_method(MetaMethod::Len, |_, stats, ()| Ok(stats.histogram.len() as f64));
        methods.add_meta_method(MetaMethod::Call, |_, stats, index: Variadic<f64>| {
            Ok(stats.distinct(index.first().copied().unwrap_or(1.0) as usize))
        });
        methods.add_meta_method(MetaMethod::Index, |_, stats, key: Value| {
            let histogram = &stats.histogram;
            let number = match &key {
                Value::String(name) => match name.to_string_lossy().as_str() {
                    "min" if histogram.is_empty() => 0.0,
                    "min" => stats.scaled(histogram.min()),
                    "max" => stats.scaled(histogram.max()),
                    "mean" => histogram.mean() * stats.scale,
                    "stdev" => histogram.stdev() * stats.scale,
                    _ => return Ok(Value::Nil),
                },
                // wrk2: the value below which so many of all lie.
                Value::Integer(index) => stats.at_quantile(*index as f64 / histogram.len().max(1) as f64),
                Value::Number(index) => stats.at_quantile(index / histogram.len().max(1) as f64),
                _ => return Ok(Value::Nil),
            };
            Ok(Value::Number(number))
        });
    }
}

/// In the main state: calls `done`, if the script has one.
///
/// `latency_ns` is in nanoseconds; `thread_rates` are answers a second of each thread.
///
/// # Errors
/// [`crate::error::Error::Script`].
pub fn done(script: &Script, ended: &Ended, latency_ns: &Histogram, thread_rates: &[f64]) -> Result<()> {
    let call = || -> mlua::Result<()> {
        let lua = script.lua();
        let Value::Function(done) = lua.globals().get("done")? else { return Ok(()) };
        let errors = lua.create_table()?;
        let Errors { connect, read, write, timeout, parse, status } = ended.errors;
        // wrk counts an answer that it cannot parse as a read error.
        for (name, count) in
            [("connect", connect), ("read", read + parse), ("write", write), ("status", status), ("timeout", timeout)]
        {
            errors.set(name, count as f64)?;
        }
        let summary = lua.create_table()?;
        summary.set("duration", ended.duration_us as f64)?;
        summary.set("requests", ended.requests as f64)?;
        summary.set("bytes", ended.bytes as f64)?;
        summary.set("errors", errors)?;
        let latency = Stats { histogram: latency_ns.clone(), scale: 1e-3 };
        let mut rates = crate::record::new_histogram();
        thread_rates.iter().for_each(|rate| rates.saturating_record(rate.round() as u64));
        done.call::<()>((
            summary,
            lua.create_userdata(latency)?,
            lua.create_userdata(Stats { histogram: rates, scale: 1.0 })?,
        ))
    };
    call().map_err(|error| script.failed(&error))
}
